import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { claim, podTemplate, pool, template } from "./manifests.ts";
import { Namespace } from "./namespace.ts";

const cluster = inject("cluster");

interface Named {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly uid: string } }[];
}

describe
  .skipIf(cluster.missing !== undefined)
  .concurrent("pools and claims on a real node", { timeout: 300_000 }, () => {
    let namespace: Namespace;
    beforeAll(async () => {
      namespace = await Namespace.create(cluster, "claims");
    });
    afterAll(() => namespace?.[Symbol.asyncDispose]());

    const ready = (name: string, replicas: number): Promise<void> =>
      namespace.wait(`sandboxwarmpool/${name}`, `jsonpath={.status.readyReplicas}=${replicas}`);
    const patch = (object: string, spec: object): Promise<string> =>
      namespace.kubectl("patch", object, "--type=merge", "-p", JSON.stringify({ spec }));
    const bound = (name: string): Promise<string> => namespace.field(`sandboxclaim/${name}`, "{.status.sandbox.name}");
    const uids = async (words: string): Promise<string[]> => {
      const { items } = JSON.parse(await namespace.kubectl(...words.split(" "), "-o", "json")) as Named;
      return items.map(({ metadata }) => metadata.uid);
    };

    test("a claim takes a running member with its Pod, and the pool is refilled (CLAIM-1, POOL-1)", async () => {
      await namespace.apply(template("warm"), pool("warm", { replicas: 2 }));
      await ready("warm", 2);
      const before = await uids("get pods -l agents.x-k8s.io/warm-pool-sandbox");
      await namespace.apply(claim("taken", "warm"));
      await namespace.wait("sandboxclaim/taken", "condition=Ready");
      const name = await bound("taken");
      expect(before).toContain(await namespace.field(`pod/${name}`, "{.metadata.uid}"));
      expect(await namespace.exec(name, "echo works")).toBe("works\n");
      await ready("warm", 2);
      await namespace.kubectl("delete", "sandboxclaim", "taken");
      await namespace.wait(`pod/${name}`, "delete");
    });

    test("Recreate rolls a changed template out to all members (POOL-25)", async () => {
      await namespace.apply(template("rolled"), pool("rolled", { replicas: 2, updateStrategy: { type: "Recreate" } }));
      await ready("rolled", 2);
      const newer = podTemplate(undefined, { env: [{ name: "VERSION", value: "2" }] });
      await patch("sandboxtemplate/rolled", { podTemplate: newer });
      const versions = (): Promise<string> =>
        namespace.kubectl(
          "get",
          "sandboxes",
          "-o",
          'jsonpath={range .items[?(@.metadata.ownerReferences[0].name=="rolled")]}{.spec.podTemplate.spec.containers[0].env[0].value},{end}',
        );
      expect(await namespace.until(versions, (seen) => seen === "2,2,")).toBe("2,2,");
      await ready("rolled", 2);
    });

    test("kubectl scale and a HorizontalPodAutoscaler change the size of a pool (POOL-1)", async () => {
      // Each member uses more CPU than the target, so the autoscaler always wants the maximum.
      const busy = podTemplate("while true; do :; done", {
        resources: { requests: { cpu: "10m" }, limits: { cpu: "60m" } },
      });
      await namespace.apply(template("scaled", { podTemplate: busy }), pool("scaled"));
      await ready("scaled", 1);
      await namespace.kubectl("scale", "sandboxwarmpool", "scaled", "--replicas=2");
      await ready("scaled", 2);
      await namespace.apply({
        apiVersion: "autoscaling/v2",
        kind: "HorizontalPodAutoscaler",
        metadata: { name: "scaled" },
        spec: {
          scaleTargetRef: { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxWarmPool", name: "scaled" },
          minReplicas: 1,
          maxReplicas: 3,
          metrics: [
            { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
          ],
        },
      });
      await namespace.wait("sandboxwarmpool/scaled", "jsonpath={.spec.replicas}=3");
      await ready("scaled", 3);
      expect(await namespace.field("horizontalpodautoscaler/scaled", "{.status.desiredReplicas}")).toBe("3");
    });

    test("claims expire by each policy (EXPIRE-13, EXPIRE-16)", async () => {
      const policies = ["Retain", "Delete", "DeleteForeground"];
      const nameOf = (policy: string): string => `ends-${policy.toLowerCase()}`;
      await namespace.apply(template("brief"), pool("brief", { replicas: 3 }));
      await ready("brief", 3);
      await namespace.apply(...policies.map((policy) => claim(nameOf(policy), "brief")));
      for (const policy of policies) await namespace.wait(`sandboxclaim/${nameOf(policy)}`, "condition=Ready");
      const names = await Promise.all(policies.map((policy) => bound(nameOf(policy))));
      const shutdownTime = new Date(Date.now() + 1000).toISOString();
      for (const policy of policies) {
        await patch(`sandboxclaim/${nameOf(policy)}`, { lifecycle: { shutdownTime, shutdownPolicy: policy } });
      }
      for (const name of names) await namespace.wait(`pod/${name}`, "delete");
      await namespace.wait("sandboxclaim/ends-delete", "delete");
      await namespace.wait("sandboxclaim/ends-deleteforeground", "delete");
      const reason = '{.status.conditions[?(@.type=="Ready")].reason}';
      expect(await namespace.field("sandboxclaim/ends-retain", reason)).toBe("ClaimExpired");
    });

    test("more claims than members at once get a different Sandbox each (CLAIM-58)", async () => {
      await namespace.apply(template("burst"), pool("burst", { replicas: 5 }));
      await ready("burst", 5);
      const names = Array.from({ length: 8 }, (_, n) => `burst-${n}`);
      await namespace.apply(...names.map((name) => claim(name, "burst")));
      for (const name of names) await namespace.wait(`sandboxclaim/${name}`, "condition=Ready");
      expect(new Set(await Promise.all(names.map(bound))).size).toBe(names.length);
    });
  });
