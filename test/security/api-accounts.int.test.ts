import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Tenant } from "./tenant.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, tokenOf, type World } from "./world.ts";

const rbac = "rbac.authorization.k8s.io";

/** A tenant tries to act as another user of the API server. */
describe.skipIf(noWorld)("accounts, tokens and impersonation", () => {
  let world: World;
  let mallory: Tenant;
  let own: string;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    own = `/api/v1/namespaces/${mallory.namespace}`;
    // A service account of the tenant with the tenant's permissions.
    await mallory.request("POST", `${own}/serviceaccounts`, { metadata: { name: "robot" } });
    await world.admin.request("POST", `/apis/${rbac}/v1/namespaces/${mallory.namespace}/rolebindings`, {
      metadata: { name: "robot" },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "edit" },
      subjects: [{ kind: "ServiceAccount", name: "robot", namespace: mallory.namespace }],
    });
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const statusWith = async (token: string, path = `${own}/pods`): Promise<number> => {
    await using somebody = new Tenant({ ...mallory.account, token });
    return (await somebody.request("GET", path)).status;
  };

  test.for([
    ["the controllers'", "agent-sandbox-system", "agent-sandbox-controller"],
    ["the router's", "agent-sandbox-system", "agent-sandbox-router"],
    ["another tenant's", "alice", "default"],
  ] as const)("no token of %s account is issued", async ([, namespace, name]) => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    expect(await mallory.request("POST", path, {})).toMatchObject({ status: 403 });
  });

  test("a token for another audience is not accepted here", async () => {
    const token = await tokenOf(mallory, mallory.namespace, "robot", { audiences: ["https://elsewhere"] });
    expect(await statusWith(token)).toBe(401);
    expect(await statusWith(await tokenOf(mallory, mallory.namespace, "robot"))).toBe(200);
  });

  test("a token becomes invalid with the object it is bound to, and with its account", async () => {
    await mallory.request("POST", `${own}/secrets`, { metadata: { name: "anchor" } });
    const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: "anchor" };
    const bound = await tokenOf(mallory, mallory.namespace, "robot", { boundObjectRef });
    expect(await statusWith(bound)).toBe(200);
    await mallory.request("DELETE", `${own}/secrets/anchor`);
    // A new account with the same name is another account.
    await mallory.request("POST", `${own}/secrets`, { metadata: { name: "anchor" } });
    expect(await statusWith(bound)).toBe(401);

    await mallory.request("POST", `${own}/serviceaccounts`, { metadata: { name: "gone" } });
    const orphan = await tokenOf(mallory, mallory.namespace, "gone");
    expect(await statusWith(orphan)).toBe(403);
    await mallory.request("DELETE", `${own}/serviceaccounts/gone`);
    await mallory.request("POST", `${own}/serviceaccounts`, { metadata: { name: "gone" } });
    expect(await statusWith(orphan)).toBe(401);
  });

  test("a token cannot be bound to another tenant's Pod", async () => {
    const body = { spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "web", namespace: "alice" } } };
    const path = `${own}/serviceaccounts/robot/token`;
    expect(await mallory.request("POST", path, body)).toMatchObject({ status: 404 });
  });

  test("a Secret that requests another account's token does not get one", async () => {
    const annotations = {
      "kubernetes.io/service-account.name": "agent-sandbox-controller",
      "kubernetes.io/service-account.namespace": "agent-sandbox-system",
      "kubernetes.io/service-account.uid": "00000000-0000-0000-0000-000000000000",
    };
    const secret = { metadata: { name: "legacy", annotations }, type: "kubernetes.io/service-account-token" };
    await mallory.request("POST", `${own}/secrets`, secret);
    const { body } = await mallory.request("GET", `${own}/secrets/legacy`);
    expect(body).not.toHaveProperty("data");
  });

  test("a token with changed claims, without a signature or signed with another key is refused", async () => {
    const [head = "", claims = "", signature = ""] = mallory.account.token.split(".");
    const decoded = JSON.parse(Buffer.from(claims, "base64url").toString()) as Record<string, unknown>;
    const account = "system:serviceaccount:agent-sandbox-system:agent-sandbox-controller";
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const forged = encode({ ...decoded, sub: account });
    const none = encode({ alg: "none", typ: "JWT" });
    for (const token of [
      `${head}.${forged}.${signature}`,
      `${none}.${forged}.`,
      `${none}.${claims}.`,
      `${head}.${claims}.`,
    ]) {
      expect(await statusWith(token)).toBe(401);
    }
  });

  test("an account that is named like the controllers' has none of their permissions", async () => {
    await mallory.request("POST", `${own}/serviceaccounts`, { metadata: { name: "agent-sandbox-controller" } });
    const token = await tokenOf(mallory, mallory.namespace, "agent-sandbox-controller");
    for (const path of ["/api/v1/pods", "/api/v1/namespaces/alice/secrets", `${own}/pods`]) {
      expect(await statusWith(token, path)).toBe(403);
    }
  });

  test.for([
    ["an administrator", { "impersonate-user": "admin" }],
    ["a group of administrators", { "impersonate-user": "x", "impersonate-group": "system:masters" }],
    ["the controllers", { "impersonate-user": "system:serviceaccount:agent-sandbox-system:agent-sandbox-controller" }],
    ["another tenant's account", { "impersonate-user": "system:serviceaccount:alice:default" }],
    ["the node", { "impersonate-user": "system:node:box", "impersonate-group": "system:nodes" }],
    ["anonymous", { "impersonate-user": "system:anonymous" }],
  ] as const)("a tenant cannot impersonate %s", async ([, headers]) => {
    expect(await mallory.request("GET", "/api/v1/namespaces/alice/secrets", undefined, headers)).toMatchObject({
      status: 403,
    });
  });

  test("with its own account a tenant cannot impersonate a group, UID or extra", async () => {
    const user = `system:serviceaccount:${mallory.namespace}:robot`;
    const as = (headers: Record<string, string>) =>
      mallory.request("GET", `${own}/pods`, undefined, { "impersonate-user": user, ...headers });
    expect(await as({})).toMatchObject({ status: 200 });
    for (const more of [
      { "impersonate-group": "system:masters" },
      { "impersonate-uid": "0" },
      { "impersonate-extra-authentication.kubernetes.io%2fpod-name": "x" },
    ]) {
      expect(await as(more as Record<string, string>)).toMatchObject({ status: 403 });
    }
  });

  test("a tenant cannot grant itself permissions", async () => {
    const roles = `/apis/${rbac}/v1`;
    const labels = { "rbac.authorization.k8s.io/aggregate-to-edit": "true" };
    const rules = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }];
    const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" };
    const subjects = [{ kind: "ServiceAccount", name: "robot", namespace: mallory.namespace }];
    const attempts = [
      [`${roles}/clusterroles`, { metadata: { name: "mine", labels }, rules }],
      [`${roles}/clusterrolebindings`, { metadata: { name: "mine" }, roleRef, subjects }],
      [`${roles}/namespaces/${mallory.namespace}/roles`, { metadata: { name: "mine" }, rules }],
      [`${roles}/namespaces/${mallory.namespace}/rolebindings`, { metadata: { name: "mine" }, roleRef, subjects }],
      ["/apis/certificates.k8s.io/v1/certificatesigningrequests", { metadata: { name: "mine" } }],
    ] as const;
    for (const [path, body] of attempts)
      expect(await mallory.request("POST", path, body)).toMatchObject({ status: 403 });
    expect(await statusWith(mallory.account.token, "/api/v1/namespaces/alice/secrets")).toBe(403);
  });

  test("an account without roles, like that of a sandbox, can read and write nothing", async () => {
    await using inside = new Tenant({
      ...mallory.account,
      token: await tokenOf(mallory, mallory.namespace, "default"),
    });
    const selfReview = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    expect(await inside.request("POST", selfReview, { spec: { namespace: mallory.namespace } })).toMatchObject({
      status: 201,
    });
    for (const path of [
      `${own}/secrets`,
      `${own}/pods`,
      "/api/v1/namespaces/alice/pods",
      "/api/v1/nodes",
      "/metrics",
    ]) {
      expect(await inside.request("GET", path)).toMatchObject({ status: 403 });
    }
  });
});
