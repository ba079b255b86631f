import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountIdentity } from "../auth/identity.ts";
import { Tenant } from "../testing/tenant.test.support.ts";
import { configMap, TestApi } from "../testing/test-api.test.support.ts";
import { defaultNamespaceLimits } from "./namespace-limits.ts";

let api: TestApi;
let attacker: Tenant;
let victim: Tenant;

beforeAll(async () => {
  api = await TestApi.start({ limits: { objects: 20, bytes: 50_000, totalBytes: 90_000 } });
  attacker = await Tenant.join(api, "attacker");
  victim = await Tenant.join(api, "victim");
});
afterAll(() => api.server.close());

const filled = (name: string, length: number): object => ({ ...configMap(name), data: { value: "x".repeat(length) } });

/** Creates objects until the server refuses one, and returns that answer. */
async function fill(
  tenant: Tenant,
  make: (at: number) => object,
): Promise<{ created: number; status: number; message: string }> {
  for (let at = 0; at < 100; at += 1) {
    const { status, body } = await tenant.send("POST", tenant.core("configmaps"), make(at));
    if (status !== 201) return { created: at, status, message: body.message };
  }
  throw new Error("the server accepted everything");
}

describe("a tenant who fills their namespace", () => {
  test("is refused beyond the limit of objects, and other tenants can still write", async () => {
    const { status, message } = await fill(attacker, (at) => configMap(`small-${at}`));
    expect(status).toBe(403);
    expect(message).toMatch(
      /^configmaps "small-\d+" is forbidden: exceeded quota: the namespace holds 20 objects of 20$/,
    );
    expect((await victim.send("POST", victim.core("configmaps"), configMap("mine"))).status).toBe(201);
    await attacker.send("DELETE", attacker.core("configmaps"));
    expect((await attacker.send("POST", attacker.core("configmaps"), configMap("again"))).status).toBe(201);
    await attacker.send("DELETE", attacker.core("configmaps"));
  });

  test("is refused beyond the limit of bytes, whether by create, update, patch or apply", async () => {
    const { status, message } = await fill(attacker, (at) => filled(`large-${at}`, 10_000));
    expect(status).toBe(403);
    expect(message).toMatch(/exceeded quota: \d+ bytes requested, the namespace holds \d+ of 50000$/);
    const path = attacker.core("configmaps", "large-0");
    const more = { data: { value: "x".repeat(20_000) } };
    const merge = { "content-type": "application/merge-patch+json" };
    const apply = { "content-type": "application/apply-patch+yaml" };
    const named = { ...configMap("large-0"), ...more };
    const answers = [
      await attacker.send("PUT", path, named),
      await attacker.send("PATCH", path, more, merge),
      await attacker.send("PATCH", `${path}?fieldManager=m&force=true`, named, apply),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([403, 403, 403]);
    // Writes that make an object smaller are accepted, so that a tenant can get below the limit again.
    expect((await attacker.send("PATCH", path, { data: { value: "x" } }, merge)).status).toBe(200);
    await attacker.send("DELETE", attacker.core("configmaps"));
  });

  test("cannot exceed the limit with service accounts of the namespace or by impersonation", async () => {
    const headers = { "impersonate-user": "system:serviceaccount:attacker:default" };
    await api.create("/apis/rbac.authorization.k8s.io/v1/namespaces/attacker/rolebindings", {
      metadata: { name: "default" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: "attacker" }],
    });
    await fill(attacker, (at) => filled(`large-${at}`, 10_000));
    const body = filled("as-default", 10_000);
    expect((await attacker.send("POST", attacker.core("configmaps"), body, headers)).status).toBe(403);
    const account = api.server.transportAs(accountIdentity({ namespace: "attacker", name: "default" }));
    expect((await account.send({ method: "POST", path: attacker.core("configmaps"), body })).status).toBe(403);
  });

  test("cannot prevent status writes of the box's own components, or any write of an administrator", async () => {
    await fill(attacker, (at) => filled(`large-${at}`, 1000));
    const controller = api.server.transportAs(
      accountIdentity({ namespace: "agent-sandbox-system", name: "agent-sandbox-controller" }),
    );
    await api.create(attacker.sandboxes(), {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name: "s" },
      spec: { podTemplate: { spec: { containers: [{ name: "main", image: "x" }] } } },
    });
    const headers = { "content-type": "application/merge-patch+json" };
    const body = { metadata: { annotations: { note: "x".repeat(5000) } } };
    const { status } = await controller.send({ method: "PATCH", path: attacker.sandboxes("s"), headers, body });
    expect(status).toBe(200);
  });

  test("cannot exceed the limit of all namespaces together with other tenants", async () => {
    const { status, message } = await fill(victim, (at) => filled(`large-${at}`, 9000));
    expect(status).toBe(403);
    expect(message).toContain("all namespaces together may hold 90000");
  });
});

test("dry runs and refused writes do not count towards the limits", async () => {
  await using own = await TestApi.start({ limits: { objects: 5 } });
  const tenant = await Tenant.join(own, "tenant");
  for (let at = 0; at < 10; at += 1) {
    expect((await tenant.send("POST", `${tenant.core("configmaps")}?dryRun=All`, configMap("dry"))).status).toBe(201);
    await tenant.send("POST", tenant.core("configmaps"), configMap("same"));
    await tenant.send("POST", tenant.core("configmaps"), configMap("Not A Name"));
  }
  expect((await tenant.send("POST", tenant.core("configmaps"), configMap("another"))).status).toBe(201);
});

test("the default limits have room for a full box and stay below the heap limit", () => {
  const { objects, bytes, totalBytes } = defaultNamespaceLimits();
  expect(objects).toBe(50_000);
  expect(bytes).toBeLessThanOrEqual(totalBytes / 4);
  expect(bytes).toBeGreaterThan(16 * 1024 * 1024);
});
