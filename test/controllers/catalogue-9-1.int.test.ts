import { sandboxWarmPools } from "@agent-sandbox/api";
import { createApiServer } from "@agent-sandbox/apiserver";
import { createClient, type Resource } from "@agent-sandbox/kube";
import { expect, test } from "vitest";

const group = "extensions.agents.x-k8s.io";

test("9.1 #5 a pool must say how many in v1alpha1, and is stored with one when it does not in v1beta1", async () => {
  await using server = await createApiServer({ nodeName: "node-1" });
  const client = createClient(server.transport);
  const pool = {
    kind: "SandboxWarmPool",
    metadata: { name: "pool", namespace: "default" },
    spec: { sandboxTemplateRef: { name: "template" } },
  } as const;
  const old: Resource = { ...sandboxWarmPools, apiVersion: `${group}/v1alpha1` };
  await expect(client.create(old, { ...pool, apiVersion: old.apiVersion })).rejects.toMatchObject({
    reason: "Invalid",
    message: expect.stringContaining("spec.replicas: Required value"),
  });
  const made = await client.create(sandboxWarmPools, { ...pool, apiVersion: `${group}/v1beta1` });
  expect(made.spec.replicas).toBe(1);
});
