import type { Method } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountIdentity, type Identity, nodeIdentity } from "../auth/identity.ts";
import { type Answer, pod, pods, sandbox, sandboxes, TestApi } from "../testing/test-api.test.support.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const roles = `${rbac}/namespaces/default/roles`;
const bindings = `${rbac}/namespaces/default/rolebindings`;
const apiGroup = "rbac.authorization.k8s.io";

const user = (name: string, ...groups: string[]): Identity => ({
  user: name,
  groups: [...groups, "system:authenticated"],
});
const jane = user("jane");

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
  await api.create("/api/v1/namespaces", { metadata: { name: "other" } });
  await api.create(pods, pod("p"));
  await bind("viewers", "ClusterRole", "view", { kind: "User", apiGroup, name: "vera" });
  await bind("editors", "ClusterRole", "edit", { kind: "Group", apiGroup, name: "editors" });
  await bind("admins", "ClusterRole", "admin", { kind: "User", apiGroup, name: "adam" });
  await bind("robots", "ClusterRole", "view", { kind: "ServiceAccount", name: "robot", namespace: "default" });
  await bind("ghosts", "Role", "missing", { kind: "User", apiGroup, name: "ghost" });
});
afterAll(() => api.server.close());

async function bind(name: string, kind: string, role: string, ...subjects: object[]): Promise<void> {
  await api.create(bindings, { metadata: { name }, roleRef: { apiGroup, kind, name: role }, subjects });
}

async function as(identity: Identity, method: Method, path: string, body?: unknown, headers = {}): Promise<Answer> {
  const request = { method, path, headers, ...(body === undefined ? {} : { body }) };
  return api.server.transportAs(identity).send(request);
}

describe("a request that no role allows is refused with Kubernetes' message", () => {
  test.for([
    [
      "GET",
      pods,
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"',
    ],
    [
      "GET",
      `${pods}/p`,
      'pods "p" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "default"',
    ],
    [
      "GET",
      `${pods}?watch=true`,
      'pods is forbidden: User "jane" cannot watch resource "pods" in API group "" in the namespace "default"',
    ],
    [
      "GET",
      "/api/v1/nodes",
      'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
    ],
    [
      "GET",
      "/api/v1/namespaces/other",
      'namespaces "other" is forbidden: User "jane" cannot get resource "namespaces" in API group "" in the namespace "other"',
    ],
    [
      "PATCH",
      `${sandboxes}/s/scale`,
      'sandboxes.agents.x-k8s.io "s" is forbidden: User "jane" cannot patch resource "sandboxes/scale" in API group "agents.x-k8s.io" in the namespace "default"',
    ],
    ["GET", "/metrics", 'forbidden: User "jane" cannot get path "/metrics"'],
    [
      "GET",
      "/api/v1/namespaces/default/x<b>/y",
      'x<b> "y" is forbidden: User "jane" cannot get resource "x&lt;b&gt;" in API group "" in the namespace "default"',
    ],
  ] as const)("%s %s", async ([method, path, message]) => {
    const { status, body } = await as(jane, method, path);
    expect({ status, message: body.message, reason: body.reason }).toEqual({
      status: 403,
      message,
      reason: "Forbidden",
    });
  });

  test("names a bound role that does not exist", async () => {
    const { body } = await as(user("ghost"), "GET", pods);
    expect(body.message).toMatch(/: RBAC: role\.rbac\.authorization\.k8s\.io "missing" not found$/);
  });

  test("is refused before the object is looked up", async () => {
    expect((await as(jane, "GET", "/apis/no.such.group/v1/things")).status).toBe(403);
    expect((await as(jane, "POST", pods, { not: "a pod" })).status).toBe(403);
  });
});

describe("permissions of roles", () => {
  const robot = accountIdentity({ namespace: "default", name: "robot" });
  const node = nodeIdentity("box");
  const controller = accountIdentity({ namespace: "agent-sandbox-system", name: "agent-sandbox-controller" });
  const router = accountIdentity({ namespace: "agent-sandbox-system", name: "agent-sandbox-router" });
  const secrets = "/api/v1/namespaces/default/secrets";
  test.for([
    ["everybody may read discovery", jane, "GET", "/apis", 200],
    ["everybody may read discovery of a version", jane, "GET", "/apis/agents.x-k8s.io/v1beta1", 200],
    ["everybody may read the version", jane, "GET", "/version", 200],
    ["viewers may list Pods", user("vera"), "GET", pods, 200],
    ["viewers may get their namespace", user("vera"), "GET", "/api/v1/namespaces/default", 200],
    ["viewers may list Sandboxes", user("vera"), "GET", sandboxes, 200],
    ["viewers may not list Secrets", user("vera"), "GET", secrets, 403],
    ["viewers may not list Pods in another namespace", user("vera"), "GET", "/api/v1/namespaces/other/pods", 403],
    ["viewers may not list Pods in all namespaces", user("vera"), "GET", "/api/v1/pods", 403],
    ["viewers may not delete", user("vera"), "DELETE", `${pods}/p`, 403],
    ["a service account may be a viewer", robot, "GET", pods, 200],
    [
      "a service account of the same name in another namespace is not a viewer",
      accountIdentity({ namespace: "other", name: "robot" }),
      "GET",
      pods,
      403,
    ],
    ["a user with the name of a group is not a member", user("editors"), "GET", secrets, 403],
    ["editors are members of their group", user("eve", "editors"), "GET", secrets, 200],
    ["editors may not list roles", user("eve", "editors"), "GET", roles, 403],
    ["admins may list roles", user("adam"), "GET", roles, 200],
    ["admins may not list nodes", user("adam"), "GET", "/api/v1/nodes", 403],
    ["superusers may list nodes", user("root", "system:masters"), "GET", "/api/v1/nodes", 200],
    ["the node may list Pods", node, "GET", "/api/v1/pods", 200],
    ["the node may list Sandboxes", node, "GET", sandboxes, 200],
    ["the node may not create Sandboxes", node, "POST", sandboxes, 403],
    ["the controller may list all Sandboxes", controller, "GET", "/apis/agents.x-k8s.io/v1beta1/sandboxes", 200],
    [
      "the controller may not list cluster roles",
      controller,
      "GET",
      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      403,
    ],
    ["the router may list all Sandboxes", router, "GET", "/apis/agents.x-k8s.io/v1beta1/sandboxes", 200],
    ["the router may not list Secrets", router, "GET", secrets, 403],
  ] as const)("%s", async ([, identity, method, path, status]) => {
    expect((await as(identity, method, path)).status).toBe(status);
  });

  test("editors may create Sandboxes", async () => {
    expect((await as(user("eve", "editors"), "POST", sandboxes, sandbox("made"))).status).toBe(201);
  });

  test("take effect when a binding is created and end when it is deleted", async () => {
    expect((await as(jane, "GET", pods)).status).toBe(403);
    await bind("brief", "ClusterRole", "view", { kind: "User", apiGroup, name: "jane" });
    expect((await as(jane, "GET", pods)).status).toBe(200);
    await api.merge(`${bindings}/brief`, { subjects: [{ kind: "User", apiGroup, name: "june" }] });
    expect((await as(jane, "GET", pods)).status).toBe(403);
    expect((await as(user("june"), "GET", pods)).status).toBe(200);
    await api.send("DELETE", `${bindings}/brief`);
    expect((await as(user("june"), "GET", pods)).status).toBe(403);
  });
});

describe("nobody grants permissions that they lack", () => {
  const adam = user("adam");
  const rule = (...verbs: string[]): object => ({ verbs, apiGroups: [""], resources: ["nodes"] });
  const own = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };

  test("by creating a role", async () => {
    const { status, body } = await as(adam, "POST", roles, {
      metadata: { name: "r" },
      rules: [own, rule("get", "list")],
    });
    expect(status).toBe(403);
    expect(body.message).toBe(
      'roles.rbac.authorization.k8s.io "r" is forbidden: user "adam" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}',
    );
    expect((await api.send("GET", `${roles}/r`)).status).toBe(404);
  });

  test("by changing a role", async () => {
    expect((await as(adam, "POST", roles, { metadata: { name: "mine" }, rules: [own] })).status).toBe(201);
    const headers = { "content-type": "application/merge-patch+json" };
    expect((await as(adam, "PATCH", `${roles}/mine`, { rules: [rule("get")] }, headers)).status).toBe(403);
    expect((await as(adam, "PATCH", `${roles}/mine`, { metadata: { labels: { a: "b" } } }, headers)).status).toBe(200);
    expect((await api.get(`${roles}/mine`))["rules"]).toEqual([own]);
  });

  test("but they may change finalizers of roles that they could not grant", async () => {
    await api.create(roles, { metadata: { name: "theirs", finalizers: ["x.y/z"] }, rules: [rule("get")] });
    const headers = { "content-type": "application/merge-patch+json" };
    expect((await as(adam, "PATCH", `${roles}/theirs`, { metadata: { labels: { a: "b" } } }, headers)).status).toBe(
      403,
    );
    expect((await as(adam, "PATCH", `${roles}/theirs`, { metadata: { finalizers: [] } }, headers)).status).toBe(200);
  });

  test.for([
    ["a role with more permissions", "cluster-admin", 403],
    ["a role with no more permissions", "edit", 201],
    ["a missing role", "nothing", 404],
  ] as const)("by creating a binding to %s", async ([, name, status]) => {
    const body = { metadata: { name: `to-${name}` }, roleRef: { apiGroup, kind: "ClusterRole", name }, subjects: [] };
    expect((await as(adam, "POST", bindings, body)).status).toBe(status);
  });

  test("unless they have permission to bind or escalate", async () => {
    const verbs = ["bind", "escalate"];
    const names = { verbs, apiGroups: [apiGroup], resources: ["roles", "clusterroles"] };
    await api.create(roles, { metadata: { name: "trusted" }, rules: [names] });
    await bind("trusted", "Role", "trusted", { kind: "User", apiGroup, name: "trudy" });
    await bind("trusted-admin", "ClusterRole", "admin", { kind: "User", apiGroup, name: "trudy" });
    const trudy = user("trudy");
    const roleRef = { apiGroup, kind: "ClusterRole", name: "cluster-admin" };
    expect((await as(trudy, "POST", bindings, { metadata: { name: "b" }, roleRef })).status).toBe(201);
    expect((await as(trudy, "POST", roles, { metadata: { name: "e" }, rules: [rule("get")] })).status).toBe(201);
  });

  test("by aggregating the rules of other roles", async () => {
    const rules = [{ verbs: ["create"], apiGroups: [apiGroup], resources: ["clusterroles"] }];
    await api.create(`${rbac}/clusterroles`, { metadata: { name: "writer" }, rules });
    const subjects = [{ kind: "User", apiGroup, name: "wanda" }];
    const roleRef = { apiGroup, kind: "ClusterRole", name: "writer" };
    await api.create(`${rbac}/clusterrolebindings`, { metadata: { name: "writer" }, roleRef, subjects });
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] };
    const answer = await as(user("wanda"), "POST", `${rbac}/clusterroles`, {
      metadata: { name: "g" },
      aggregationRule,
      rules: [],
    });
    expect(answer).toMatchObject({ status: 403, body: { message: expect.stringContaining("aggregationRule") } });
  });

  test("and a rule with too many combinations is refused", async () => {
    const many = Array.from({ length: 300 }, (_, at) => `x${at}`);
    const huge = { verbs: many, apiGroups: many, resources: many, resourceNames: many };
    const answer = await as(adam, "POST", roles, { metadata: { name: "huge" }, rules: [huge] });
    expect(answer).toMatchObject({ status: 403, body: { message: expect.stringContaining("more than 20000") } });
  });
});

describe("impersonation", () => {
  const kube = { "impersonate-user": "vera" };
  const admin = user("admin", "system:masters");

  test("needs permission", async () => {
    expect((await as(admin, "GET", pods, undefined, kube)).status).toBe(200);
    const secrets = "/api/v1/namespaces/default/secrets";
    expect((await as(admin, "GET", secrets, undefined, kube)).body.message).toContain('User "vera" cannot list');
    const refused = await as(jane, "GET", pods, undefined, kube);
    expect(refused).toMatchObject({
      status: 403,
      body: {
        message:
          'users "vera" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope',
      },
    });
  });

  test.for([
    [
      { "impersonate-user": "eve", "impersonate-group": "editors" },
      { username: "eve", groups: ["editors", "system:authenticated"] },
    ],
    [
      { "impersonate-user": "system:serviceaccount:default:robot" },
      {
        username: "system:serviceaccount:default:robot",
        groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
      },
    ],
    [
      { "impersonate-user": "eve", "impersonate-uid": "7", "impersonate-extra-acme.com%2fscope": "all" },
      { username: "eve", uid: "7", groups: ["system:authenticated"], extra: { "acme.com/scope": ["all"] } },
    ],
  ] as const)("%j becomes %j", async ([headers, userInfo]) => {
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const { status, body } = await as(admin, "POST", path, {}, headers);
    expect({ status, userInfo: body.status?.userInfo }).toEqual({ status: 201, userInfo });
  });

  test.for([
    [
      "a group",
      { "impersonate-user": "robot", "impersonate-group": "system:masters" },
      'groups "system:masters" is forbidden',
    ],
    ["a uid", { "impersonate-user": "robot", "impersonate-uid": "1" }, 'uids.authentication.k8s.io "1" is forbidden'],
    [
      "an extra",
      { "impersonate-user": "robot", "impersonate-extra-k": "v" },
      'userextras.authentication.k8s.io "v" is forbidden',
    ],
    ["another user", { "impersonate-user": "root" }, 'users "root" is forbidden'],
  ] as const)("of one user does not allow impersonation of %s", async ([, headers, message]) => {
    await allowRobot();
    expect((await as(user("imp"), "GET", "/api", undefined, { "impersonate-user": "robot" })).status).toBe(200);
    const answer = await as(user("imp"), "GET", "/api", undefined, headers);
    expect(answer).toMatchObject({ status: 403, body: { message: expect.stringContaining(message) } });
  });

  test("needs a user", async () => {
    expect((await as(admin, "GET", pods, undefined, { "impersonate-group": "g" })).status).toBe(400);
  });
});

let allowed = false;
async function allowRobot(): Promise<void> {
  if (allowed) return;
  allowed = true;
  const rules = [{ verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: ["robot"] }];
  await api.create(`${rbac}/clusterroles`, { metadata: { name: "imp" }, rules });
  const subjects = [{ kind: "User", apiGroup, name: "imp" }];
  await api.create(`${rbac}/clusterrolebindings`, {
    metadata: { name: "imp" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "imp" },
    subjects,
  });
}

describe("reviews of access", () => {
  const path = "/apis/authorization.k8s.io/v1";
  const resourceAttributes = { verb: "list", resource: "pods", namespace: "default" };
  // oxlint-disable-next-line typescript/no-explicit-any
  const ask = async (kind: string, spec: object, identity = user("root", "system:masters")): Promise<any> =>
    (await as(identity, "POST", `${path}/${kind}`, { spec })).body;

  test("report whether a user may do something", async () => {
    expect((await ask("subjectaccessreviews", { user: "vera", resourceAttributes })).status).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "viewers/default" of ClusterRole "view" to User "vera"',
    });
    const denied = { user: "vera", resourceAttributes: { ...resourceAttributes, verb: "delete" } };
    expect((await ask("subjectaccessreviews", denied)).status).toEqual({ allowed: false });
    const byPath = {
      user: "x",
      groups: ["system:authenticated"],
      nonResourceAttributes: { path: "/api", verb: "get" },
    };
    expect((await ask("subjectaccessreviews", byPath)).status).toEqual({
      allowed: true,
      reason:
        'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
    });
  });

  test("report whether the caller may do something", async () => {
    expect((await ask("selfsubjectaccessreviews", { resourceAttributes }, user("vera"))).status.allowed).toBe(true);
    expect((await ask("selfsubjectaccessreviews", { resourceAttributes }, jane)).status).toEqual({ allowed: false });
    expect((await ask("subjectaccessreviews", { user: "vera", resourceAttributes }, jane)).code).toBe(403);
  });

  test("for one namespace answer only about that namespace", async () => {
    const local = `namespaces/default/localsubjectaccessreviews`;
    expect((await ask(local, { user: "vera", resourceAttributes }, user("adam"))).status.allowed).toBe(true);
    const elsewhere = { user: "vera", resourceAttributes: { ...resourceAttributes, namespace: "other" } };
    expect(await ask(local, elsewhere, user("adam"))).toMatchObject({
      code: 422,
      message: expect.stringContaining("must match metadata.namespace"),
    });
  });

  test.for([
    [{}, "exactly one of nonResourceAttributes or resourceAttributes must be specified"],
    [{ user: "v", resourceAttributes, nonResourceAttributes: {} }, "cannot be specified in combination"],
    [{ resourceAttributes }, "at least one of user or group must be specified"],
    [{ user: 5, resourceAttributes }, "spec.user"],
  ] as const)("refuse %j", async ([spec, message]) => {
    expect(await ask("subjectaccessreviews", spec)).toMatchObject({
      code: 422,
      message: expect.stringContaining(message),
    });
  });

  test("list the permissions of the caller", async () => {
    const { status } = await ask("selfsubjectrulesreviews", { namespace: "default" }, user("vera"));
    expect(status).toMatchObject({ incomplete: false });
    expect(status.resourceRules).toContainEqual({
      verbs: ["get", "list", "watch"],
      apiGroups: ["agents.x-k8s.io"],
      resources: ["sandboxes", "sandboxes/status", "sandboxes/scale"],
    });
    expect(status.nonResourceRules.flatMap((rule: { nonResourceURLs: string[] }) => rule.nonResourceURLs)).toContain(
      "/api/*",
    );
    const ghost = await ask("selfsubjectrulesreviews", { namespace: "default" }, user("ghost"));
    expect(ghost.status.evaluationError).toContain('"missing" not found');
    expect((await ask("selfsubjectrulesreviews", {}, jane)).code).toBe(400);
  });
});
