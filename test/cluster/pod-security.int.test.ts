import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { claim, podTemplate, pool, sandbox, template } from "./manifests.ts";
import { Namespace } from "./namespace.ts";

const cluster = inject("cluster");

/** What the Pod Security Standard "restricted" requires of a container. */
const restricted = {
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    runAsNonRoot: true,
    runAsUser: 1000,
    seccompProfile: { type: "RuntimeDefault" },
  },
};

describe
  .skipIf(cluster.missing !== undefined)
  .concurrent("a namespace that enforces Pod Security", { timeout: 300_000 }, () => {
    let namespace: Namespace;
    beforeAll(async () => {
      const enforce = { "pod-security.kubernetes.io/enforce": "restricted" };
      namespace = await Namespace.create(cluster, "restricted", enforce);
    });
    afterAll(() => namespace?.[Symbol.asyncDispose]());

    test("runs Sandboxes with the injected runtime, and claims (RUNTIME-2)", async () => {
      const podOf = podTemplate(undefined, restricted);
      await namespace.apply(
        sandbox("plain", { podTemplate: podOf }),
        sandbox("with-runtime", { podTemplate: podOf, runtime: "Injected" }),
        template("members", { podTemplate: podOf }),
        pool("members"),
      );
      await namespace.wait("sandbox/plain", "condition=Ready");
      await namespace.wait("sandbox/with-runtime", "condition=Ready");
      await namespace.apply(claim("taken", "members"));
      await namespace.wait("sandboxclaim/taken", "condition=Ready");
      expect(await namespace.exec("with-runtime", "id -u")).toBe("1000\n");
    });

    test("a Sandbox that breaks the standard says so, and starts when it is corrected", async () => {
      await namespace.apply(sandbox("loose"));
      const message = '{.status.conditions[?(@.type=="Ready")].message}';
      const told = await namespace.until(
        () => namespace.field("sandbox/loose", message),
        (text) => text !== "",
      );
      expect(told).toContain("violates PodSecurity");
      await namespace.apply(sandbox("loose", { podTemplate: podTemplate(undefined, restricted) }));
      await namespace.wait("sandbox/loose", "condition=Ready");
    });
  });
