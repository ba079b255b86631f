import { nameHash } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, tokenOf, type World } from "./world.ts";

const agents = "/apis/agents.x-k8s.io/v1beta1/namespaces";
const extensions = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces";
const rbac = "rbac.authorization.k8s.io";

interface Claimed {
  readonly metadata: { readonly uid: string };
  readonly status?: {
    readonly sandbox?: { readonly name?: string };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message?: string;
    }[];
  };
}

/** A user tries to make the controllers act on forged objects. */
describe.skipIf(noWorld)("what controllers trust", () => {
  let world: World;
  let bob: Tenant;
  let mallory: Tenant;
  /** A user who may only create Sandboxes in Bob's namespace. */
  let planter: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    [bob, mallory] = await Promise.all([world.tenant("bob"), world.tenant()]);
    const { namespace } = bob;
    await bob.request("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "planter" } });
    const role = `/apis/${rbac}/v1/namespaces/${namespace}`;
    const rules = [{ verbs: ["create"], apiGroups: ["agents.x-k8s.io"], resources: ["sandboxes"] }];
    await world.admin.request("POST", `${role}/roles`, { metadata: { name: "planter" }, rules });
    await world.admin.request("POST", `${role}/rolebindings`, {
      metadata: { name: "planter" },
      roleRef: { apiGroup: rbac, kind: "Role", name: "planter" },
      subjects: [{ kind: "ServiceAccount", name: "planter", namespace }],
    });
    planter = new Tenant({ ...bob.account, token: await tokenOf(bob, namespace, "planter") });
    await bob.request("POST", `${extensions}/${namespace}/sandboxtemplates`, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxTemplate",
      metadata: { name: "plain" },
      spec: { podTemplate: { spec: template("sleep infinity") } },
    });
  });
  afterAll(async () => {
    for (const { namespace } of [bob, mallory]) await world.admin.request("DELETE", `/api/v1/namespaces/${namespace}`);
    for (const tenant of [planter, mallory, bob]) await tenant?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const template = (script: string): object => ({
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "host", command: ["sh", "-c", `exec ${script}`] }],
  });
  const sandbox = (metadata: object, script: string): object => ({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata,
    spec: { podTemplate: { spec: template(script) } },
  });
  const pool = async (name: string): Promise<string> => {
    const { body } = await bob.request("POST", `${extensions}/${bob.namespace}/sandboxwarmpools`, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxWarmPool",
      metadata: { name },
      spec: { replicas: 0, sandboxTemplateRef: { name: "plain" } },
    });
    return (body as Claimed).metadata.uid;
  };
  const claim = (tenant: Tenant, name: string, poolName: string): Promise<unknown> =>
    tenant.request("POST", `${extensions}/${tenant.namespace}/sandboxclaims`, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { name },
      spec: { warmPoolRef: { name: poolName } },
    });
  const claimOf = async (tenant: Tenant, name: string): Promise<Claimed> =>
    (await tenant.request("GET", `${extensions}/${tenant.namespace}/sandboxclaims/${name}`)).body as Claimed;

  test("a user with `sandboxes: create` cannot add a Sandbox to a pool that others claim from", async () => {
    const uid = await pool("poisoned");
    const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxWarmPool", name: "poisoned", uid };
    const forged = sandbox({ name: "planted", ownerReferences: [{ ...owner, controller: true }] }, "sleep 1001");
    expect(await planter.request("POST", `${agents}/${bob.namespace}/sandboxes`, forged)).toMatchObject({
      status: 403,
    });
    // Labels alone may be written, and a claim ignores them.
    const labels = {
      "agents.x-k8s.io/warm-pool-sandbox": nameHash("poisoned"),
      "agents.x-k8s.io/sandbox-template-ref-hash": nameHash("plain"),
      "agents.x-k8s.io/claim-uid": uid,
    };
    const labelled = sandbox({ name: "labelled", labels }, "sleep 1002");
    expect(await planter.request("POST", `${agents}/${bob.namespace}/sandboxes`, labelled)).toMatchObject({
      status: 201,
    });
    await claim(bob, "honest", "poisoned");
    const bound = await until(async () => (await claimOf(bob, "honest")).status?.sandbox?.name);
    expect(bound).toBe("honest");
  });

  test("a Sandbox with another user's claim as its controller is refused", async () => {
    await pool("claimed");
    await claim(bob, "target", "claimed");
    const { uid } = (await claimOf(bob, "target")).metadata;
    const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "target", uid };
    const forged = sandbox({ name: "hijack", ownerReferences: [{ ...owner, controller: true }] }, "sleep 1003");
    expect(await planter.request("POST", `${agents}/${bob.namespace}/sandboxes`, forged)).toMatchObject({
      status: 403,
    });
    expect(await until(async () => (await claimOf(bob, "target")).status?.sandbox?.name)).toBe("target");
  });

  test("a claim cannot use a pool or template of another namespace", async () => {
    await pool("private");
    await claim(mallory, "thief", "private");
    const reason = await until(
      async () => (await claimOf(mallory, "thief")).status?.conditions?.find(({ type }) => type === "Ready")?.reason,
    );
    expect(reason).toBe("WarmPoolNotFound");
    const { body } = await mallory.request("GET", `${agents}/${mallory.namespace}/sandboxes`);
    expect(body).toMatchObject({ items: [] });
  });

  test("an annotation or claim reference that names another tenant's Pod or Sandbox reaches nothing", async () => {
    const annotations = { "agents.x-k8s.io/pod-name": "web" };
    await mallory.request(
      "POST",
      `${agents}/${mallory.namespace}/sandboxes`,
      sandbox({ name: "pointer", annotations }, "sleep 1004"),
    );
    await mallory.request("POST", `${extensions}/${mallory.namespace}/sandboxclaims`, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { name: "pointing", annotations: { "agents.x-k8s.io/sandbox-name": "web" } },
      spec: { warmPoolRef: { name: "none" } },
    });
    await until(async () => (await claimOf(mallory, "pointing")).status?.conditions?.[0]?.reason);
    await mallory.request("DELETE", `${agents}/${mallory.namespace}/sandboxes/pointer`);
    expect(await world.alice.harm()).toEqual([]);
  });

  test("an image name cannot write lines into conditions and events", async () => {
    const path = `${agents}/${mallory.namespace}/sandboxes`;
    const image = `nothing\u001b[2J\nReady: True\u202e${"x".repeat(2_000)}`;
    const spec = { podTemplate: { spec: { containers: [{ name: "main", image }] } } };
    await mallory.request("POST", path, { ...sandbox({ name: "liar" }, ""), spec });
    const text = await until(async () => {
      const { body } = await mallory.request("GET", `${path}/liar`);
      const ready = (body as Claimed).status?.conditions?.find(({ type }) => type === "Ready");
      return ready?.message?.includes("main") ? ready.message : undefined;
    });
    const note = await until(async () => {
      const { body } = await mallory.request("GET", `/apis/events.k8s.io/v1/namespaces/${mallory.namespace}/events`);
      const { items } = body as { items: { reason: string; note: string }[] };
      return items.find(({ reason }) => reason === "PodNotReady")?.note;
    });
    for (const one of [text, note]) {
      expect(one).toMatch(/container "main": .*nothing \[2J Ready: True/);
      expect(one).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]|\p{Bidi_Control}/u);
      expect(one.length).toBeLessThan(1_200);
    }
    await mallory.request("DELETE", `${path}/liar`);
  });

  test("a forged mark of the spec replaces no Pod", async () => {
    const path = `${agents}/${mallory.namespace}/sandboxes`;
    const podPath = `/api/v1/namespaces/${mallory.namespace}/pods/marked`;
    await mallory.request("POST", path, sandbox({ name: "marked" }, "sleep 1005"));
    const conditionOf = async (type: string): Promise<{ status?: string } | undefined> =>
      ((await mallory.request("GET", `${path}/marked`)).body as Claimed).status?.conditions?.find(
        (condition) => condition.type === type,
      );
    await until(async () => ((await conditionOf("Ready"))?.status === "True" ? true : undefined));
    const uidOf = async (): Promise<string> => ((await mallory.request("GET", podPath)).body as Claimed).metadata.uid;
    const before = await uidOf();
    const annotations = { "agents.x-k8s.io/pod-spec-hash": "7-00000000" };
    const merge = { "content-type": "application/merge-patch+json" };
    expect(await mallory.request("PATCH", podPath, { metadata: { annotations } }, merge)).toMatchObject({
      status: 200,
    });
    await until(() => conditionOf("PodOutdated"));
    expect(await conditionOf("Ready")).toMatchObject({ status: "True" });
    expect(await uidOf()).toBe(before);
    await mallory.request("DELETE", `${path}/marked`);
    expect(await world.alice.harm()).toEqual([]);
  });
});
