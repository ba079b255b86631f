import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountIdentity } from "../auth/identity.ts";
import { Tenant } from "../testing/tenant.test.support.ts";
import { configMap, pod, sandbox, TestApi, type TestObject } from "../testing/test-api.test.support.ts";

let api: TestApi;
let attacker: Tenant;
let victim: Tenant;
let mine: TestObject;
let theirs: TestObject;
let pool: TestObject;

beforeAll(async () => {
  api = await TestApi.start();
  attacker = await Tenant.join(api, "attacker");
  victim = await Tenant.join(api, "victim");
  mine = await api.create(attacker.sandboxes(), sandbox("mine"));
  theirs = await api.create(victim.sandboxes(), sandbox("theirs"));
  pool = await api.create(attacker.extensions("sandboxwarmpools"), {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxWarmPool",
    metadata: { name: "pool" },
    spec: { replicas: 0, sandboxTemplateRef: { name: "t" } },
  });
});
afterAll(() => api.server.close());

const controlled = (owner: TestObject, more: object = {}): object => ({
  ownerReferences: [
    {
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid,
      controller: true,
      ...more,
    },
  ],
});

describe("a tenant cannot make an object that passes for a controller's child", () => {
  test.for([
    ["a Pod of the tenant's own Sandbox", () => controlled(mine)],
    ["a Pod of a Sandbox in another namespace", () => controlled(theirs)],
    [
      "a Pod whose reference lies about the owner's kind and name",
      () => controlled(theirs, { apiVersion: "v1", kind: "ConfigMap", name: "x" }),
    ],
    ["a Pod of a warm pool", () => controlled(pool)],
  ] as const)("%s", async ([, metadata]) => {
    const { status, body } = await attacker.send("POST", attacker.core("pods"), pod("forged", metadata()));
    expect({ status, reason: body.reason }).toEqual({ status: 403, reason: "Forbidden" });
    expect(body.message).toContain("cannot set controller if an ownerReference refers to a resource you can't set");
    expect(await api.names(attacker.core("pods"))).toEqual([]);
  });

  test("a warm-pool member that another user's claim would adopt", async () => {
    const forged = { ...sandbox("planted"), metadata: { name: "planted", ...controlled(pool) } };
    const { status } = await attacker.send("POST", attacker.sandboxes(), forged);
    expect(status).toBe(403);
  });

  test("by update, merge patch and server-side apply", async () => {
    await attacker.send("POST", attacker.core("configmaps"), configMap("plain"));
    const path = attacker.core("configmaps", "plain");
    const metadata = { name: "plain", ...controlled(mine) };
    const merge = { "content-type": "application/merge-patch+json" };
    const apply = { "content-type": "application/apply-patch+yaml" };
    const wanted = { apiVersion: "v1", kind: "ConfigMap", metadata };
    const answers = await Promise.all([
      attacker.send("PUT", path, wanted),
      attacker.send("PATCH", path, { metadata }, merge),
      attacker.send("PATCH", `${path}?fieldManager=x`, wanted, apply),
      attacker.send(
        "PATCH",
        `${attacker.core("configmaps", "new")}?fieldManager=x`,
        { ...wanted, metadata: { ...metadata, name: "new" } },
        apply,
      ),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await api.get(path)).metadata).not.toHaveProperty("ownerReferences");
  });
});

describe("owner references without extra authority are accepted", () => {
  test("an owner that is not the controller, so that garbage collection deletes the object with it", async () => {
    const metadata = controlled(mine, { controller: false, blockOwnerDeletion: true });
    const { status } = await attacker.send("POST", attacker.core("configmaps"), configMap("helper", metadata));
    expect(status).toBe(201);
  });

  test("a controller of another kind, as operators of a tenant set it", async () => {
    const owner = await api.create(attacker.core("configmaps"), configMap("operator-owner"));
    const metadata = controlled(owner, { blockOwnerDeletion: true });
    const { status } = await attacker.send("POST", attacker.core("configmaps"), configMap("operand", metadata));
    expect(status).toBe(201);
  });

  test("a change of an object that already has its controller", async () => {
    await api.create(attacker.core("pods"), pod("child", controlled(mine)));
    const merge = { "content-type": "application/merge-patch+json" };
    const path = attacker.core("pods", "child");
    const { status } = await attacker.send("PATCH", path, { metadata: { labels: { mine: "yes" } } }, merge);
    expect(status).toBe(200);
    const stolen = await attacker.send("PATCH", path, { metadata: controlled(theirs) }, merge);
    expect(stolen.status).toBe(403);
  });

  test("the controllers of the box, which may update finalizers", async () => {
    const account = accountIdentity({ namespace: "agent-sandbox-system", name: "agent-sandbox-controller" });
    const body = pod("real", controlled(mine, { blockOwnerDeletion: true }));
    const answer = await api.server.transportAs(account).send({ method: "POST", path: attacker.core("pods"), body });
    expect(answer.status).toBe(201);
  });
});

describe("a tenant cannot hold up the deletion of cluster-scoped objects", () => {
  test("by a reference that blocks the deletion of a Namespace, even with another kind in it", async () => {
    const namespace = await api.get("/api/v1/namespaces/victim");
    for (const lie of [{}, { kind: "Pod", name: "x" }]) {
      const metadata = controlled(namespace, { controller: false, blockOwnerDeletion: true, apiVersion: "v1", ...lie });
      const { status, body } = await attacker.send("POST", attacker.core("configmaps"), configMap("block", metadata));
      expect(status).toBe(403);
      expect(body.message).toContain("cannot set blockOwnerDeletion if an ownerReference refers to a resource");
    }
  });
});
