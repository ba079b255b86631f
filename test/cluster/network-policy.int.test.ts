import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { claim, podTemplate, pool, sandbox, template } from "./manifests.ts";
import { Namespace } from "./namespace.ts";
import { usesExisting } from "./settings.ts";

const cluster = inject("cluster");

/** The cluster that the suite starts stores NetworkPolicies and does not enforce them (docs/adr/0049). */
const notEnforced =
  "the node's network plugin does not enforce NetworkPolicies: use TEST_CLUSTER=existing with a cluster that does";
if (!usesExisting || process.env["TEST_CLUSTER_NETWORK_POLICY"] === "none") console.warn(`skipped: ${notEnforced}`);
const enforces = usesExisting && process.env["TEST_CLUSTER_NETWORK_POLICY"] !== "none";

describe
  .skipIf(cluster.missing !== undefined)
  .concurrent("NetworkPolicies on a real cluster", { timeout: 300_000 }, () => {
    let namespace: Namespace;
    const page = podTemplate("mkdir -p /tmp/www; hostname > /tmp/www/index.html; httpd -f -p 8000 -h /tmp/www");
    beforeAll(async () => {
      namespace = await Namespace.create(cluster, "policies");
      await namespace.apply(template("closed", { podTemplate: page }), pool("closed"), sandbox("neighbour"));
      await namespace.apply(claim("closed", "closed"));
      await namespace.wait("sandboxclaim/closed", "condition=Ready");
      await namespace.wait("sandbox/neighbour", "condition=Ready");
    });
    afterAll(() => namespace?.[Symbol.asyncDispose]());

    test("a template's policy selects the Pods of its Sandboxes (TEMPLATE-1, TEMPLATE-8)", async () => {
      const [name = ""] = (await namespace.kubectl("get", "networkpolicies", "-o", "name")).trim().split("\n");
      const labels = JSON.parse(await namespace.field(name, "{.spec.podSelector.matchLabels}")) as Record<
        string,
        string
      >;
      const selector = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
      const selected = await namespace.kubectl("get", "pods", "-l", selector.join(","), "-o", "name");
      const bound = await namespace.field("sandboxclaim/closed", "{.status.sandbox.name}");
      expect(selected.trim().split("\n")).toContain(`pod/${bound}`);
      expect(selected).not.toContain("neighbour");
    });

    test.skipIf(!enforces)("a neighbour cannot connect to a Sandbox of a template (TEMPLATE-1)", async () => {
      const bound = await namespace.field("sandboxclaim/closed", "{.status.sandbox.name}");
      const address = await namespace.field(`pod/${bound}`, "{.status.podIP}");
      const { code } = await namespace.try("exec", "neighbour", "--", "nc", "-w", "3", address, "8000");
      expect(code).not.toBe(0);
    });
  });
