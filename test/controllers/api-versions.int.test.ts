import { sandboxClaims, sandboxes, sandboxWarmPools } from "@agent-sandbox/api";
import { createApiServer } from "@agent-sandbox/apiserver";
import { createClient, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { expect, test } from "vitest";

const group = "extensions.agents.x-k8s.io";
const namespace = "default";
const podTemplate = { spec: { containers: [{ name: "c", image: "host" }] } };
const volume = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const oldSandboxes: Resource = { ...sandboxes, apiVersion: "agents.x-k8s.io/v1alpha1" };
const oldClaims: Resource = { ...sandboxClaims, apiVersion: `${group}/v1alpha1` };

test("requires replicas of a v1alpha1 pool and stores a v1beta1 pool without replicas with 1 (API-3)", async () => {
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

test("shows the current replicas of a v1alpha1 Sandbox, and no copy of it in v1beta1 (API-7)", async () => {
  await using server = await createApiServer({ nodeName: "node-1" });
  const client = createClient(server.transport);
  const place = { namespace, name: "old" };
  const spec = { replicas: 0, podTemplate };
  await client.create(oldSandboxes, { ...kindOf(oldSandboxes), metadata: place, spec } as KubeObject);
  const stored = await client.get(sandboxes, place);
  expect([stored.spec.operatingMode, stored.metadata.annotations ?? {}]).toEqual(["Suspended", {}]);
  const status = { selector: "a=b" };
  await client.patch(sandboxes, place, { type: "merge", body: { status } }, { subresource: "status" });
  const shown = async (): Promise<unknown> => {
    const { spec: wanted, status: seen } = (await client.get(oldSandboxes, place)) as KubeObject & {
      spec: { replicas: number };
      status: { replicas: number };
    };
    return [wanted.replicas, seen.replicas];
  };
  expect(await shown()).toEqual([0, 0]);
  await client.patch(sandboxes, place, { type: "merge", body: { spec: { operatingMode: "Running" } } });
  expect(await shown()).toEqual([1, 1]);
});

test("rejects changed volume claim templates through v1alpha1 and v1beta1 (API-1)", async () => {
  await using server = await createApiServer({ nodeName: "node-1" });
  const client = createClient(server.transport);
  const place = { namespace, name: "fixed" };
  const spec = { podTemplate, volumeClaimTemplates: [volume] };
  await client.create(sandboxes, { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: place, spec });
  for (const resource of [oldSandboxes, sandboxes]) {
    const body = { spec: { volumeClaimTemplates: [volume, { ...volume, metadata: { name: "more" } }] } };
    await expect(client.patch<KubeObject>(resource, place, { type: "merge", body })).rejects.toMatchObject({
      reason: "Invalid",
      message: expect.stringContaining("volumeClaimTemplates is immutable"),
    });
  }
});

test("keeps volumes and pool of a claim edited through v1alpha1 (API-12, API-21)", async () => {
  await using server = await createApiServer({ nodeName: "node-1" });
  const client = createClient(server.transport);
  const made = { namespace, name: "new" };
  const spec = { warmPoolRef: { name: "pool" }, volumeClaimTemplates: [volume] };
  await client.create(sandboxClaims, { apiVersion: `${group}/v1beta1`, kind: "SandboxClaim", metadata: made, spec });
  await client.patch(oldClaims, made, { type: "merge", body: { metadata: { labels: { seen: "old" } } } });
  expect((await client.get(sandboxClaims, made)).spec).toMatchObject(spec);
  const old = { namespace, name: "old" };
  const oldSpec = { sandboxTemplateRef: { name: "template" }, warmpool: "default" };
  await client.create(oldClaims, { ...kindOf(oldClaims), metadata: old, spec: oldSpec } as KubeObject);
  const poolOf = async (): Promise<string> => (await client.get(sandboxClaims, old)).spec.warmPoolRef.name;
  expect(await poolOf()).toBe("shadow-pool-template");
  const status = { sandbox: { name: "my-pool-abcde" } };
  await client.patch(sandboxClaims, old, { type: "merge", body: { status } }, { subresource: "status" });
  await client.patch(oldClaims, old, { type: "merge", body: { metadata: { labels: { seen: "old" } } } });
  expect(await poolOf()).toBe("shadow-pool-template");
  expect((await client.get(oldClaims, old)) as KubeObject & { spec: unknown }).toMatchObject({ spec: oldSpec });
});

function kindOf({ apiVersion, kind }: Resource): { apiVersion: string; kind: string } {
  return { apiVersion, kind };
}
