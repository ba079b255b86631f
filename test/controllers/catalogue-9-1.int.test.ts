import { sandboxWarmPools } from "@agent-sandbox/api";
import { createApiServer } from "@agent-sandbox/apiserver";
import { createClient } from "@agent-sandbox/kube";
import { expect, test } from "vitest";

test("9.1 #5 a pool must say how many in v1alpha1, and is stored with one when it does not in v1beta1", async () => {
  await using server = await createApiServer({ nodeName: "node-1" });
  const client = createClient(server.transport);
  const poolIn = (apiVersion: string) => ({
    apiVersion,
    kind: "SandboxWarmPool",
    metadata: { name: "pool", namespace: "default" },
    spec: { sandboxTemplateRef: { name: "template" } },
  });
  const old = { ...sandboxWarmPools, apiVersion: "extensions.agents.x-k8s.io/v1alpha1" };
  await expect(client.create(old, poolIn(old.apiVersion))).rejects.toMatchObject({
    reason: "Invalid",
    message: expect.stringContaining("spec.replicas: Required value"),
  });
  const made = await client.create(sandboxWarmPools, poolIn(sandboxWarmPools.apiVersion));
  expect(made.spec.replicas).toBe(1);
});
