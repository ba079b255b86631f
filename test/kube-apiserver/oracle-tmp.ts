import { request, Agent } from "node:https";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createApiServer } from "/work/main/packages/apiserver/src/index.ts";
import { startKubernetes } from "/work/main/test/kube-apiserver/start.ts";

const real = await startKubernetes({ serviceAccounts: false, controllers: ["garbage-collector-controller", "namespace-controller", "clusterrole-aggregation-controller"] });
const ours = await createApiServer({ access: { issuer: "https://kubernetes.default.svc" } });
const listening = await ours.listen();
const agent = new Agent({ keepAlive: true });
const servers = {
  real: { url: real.url, ca: readFileSync(real.authority.certificate), token: real.admin.token },
  ours: { url: listening.url, ca: listening.authority, token: listening.token },
} as const;
type Name = keyof typeof servers;
async function send(name: Name, method: string, path: string, body?: unknown, headers: Record<string, any> = {}) {
  const { url, ca, token } = servers[name];
  const { hostname, port } = new URL(url);
  const auth = headers.authorization === null ? {} : { authorization: `Bearer ${token}` };
  const { authorization, ...rest } = headers;
  const r = request({ host: hostname, port, ca, agent, method, path, headers: { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json", accept: "application/json", ...auth, ...(authorization ? { authorization } : {}), ...rest } });
  r.end(body === undefined ? undefined : JSON.stringify(body));
  const [res] = await once(r, "response");
  let text = ""; 
  if (path.includes("watch=true") && res.statusCode === 200) { res.destroy(); return { status: 200, body: {} as any }; }
  for await (const c of res) text += c;
  let parsed: any = text; try { parsed = JSON.parse(text); } catch {}
  return { status: res.statusCode as number, body: parsed };
}
const both = async (m: string, p: string, b?: unknown, h?: any) => ({ real: await send("real", m, p, b, h), ours: await send("ours", m, p, b, h) });
const G = "rbac.authorization.k8s.io", R = `/apis/${G}/v1`;
const rb = `${R}/namespaces/default/rolebindings`, ro = `${R}/namespaces/default/roles`;
async function setup(m: string, p: string, b: unknown) { const x = await both(m, p, b); if (x.real.status >= 300 || x.ours.status >= 300) console.log("SETUP", p, x.real.status, x.ours.status, x.real.body.message, x.ours.body.message); }
const bind = (name: string, kind: string, role: string, ...subjects: any[]) => setup("POST", rb, { metadata: { name }, roleRef: { apiGroup: G, kind, name: role }, subjects });
const cbind = (name: string, role: string, ...subjects: any[]) => setup("POST", `${R}/clusterrolebindings`, { metadata: { name }, roleRef: { apiGroup: G, kind: "ClusterRole", name: role }, subjects });
const U = (name: string) => ({ kind: "User", apiGroup: G, name });
await setup("POST", "/api/v1/namespaces", { metadata: { name: "other" } });
await setup("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "robot" } });
await setup("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "c" } });
await bind("viewers", "ClusterRole", "view", U("vera"));
await bind("editors", "ClusterRole", "edit", { kind: "Group", apiGroup: G, name: "editors" });
await bind("admins", "ClusterRole", "admin", U("adam"));
await bind("robots", "ClusterRole", "view", { kind: "ServiceAccount", name: "robot", namespace: "default" });
await bind("ghosts", "Role", "missing", U("ghost"));
await cbind("ghosts2", "missing-too", U("ghost"));
await setup("POST", ro, { metadata: { name: "named" }, rules: [{ verbs: ["get", "list", "watch", "delete"], apiGroups: [""], resources: ["configmaps"], resourceNames: ["c"] }, { verbs: ["*"], apiGroups: ["apps"], resources: ["*/scale"] }, { verbs: ["create"], apiGroups: [""], resources: ["pods/exec"] }] });
await bind("named", "Role", "named", U("nora"));
await setup("POST", `${R}/clusterroles`, { metadata: { name: "urls" }, rules: [{ verbs: ["get"], nonResourceURLs: ["/metrics", "/logs/*"] }] });
await cbind("urls", "urls", U("uri"));
await setup("POST", `${R}/clusterroles`, { metadata: { name: "trusted" }, rules: [{ verbs: ["bind", "escalate"], apiGroups: [G], resources: ["roles", "clusterroles"] }, { verbs: ["*"], apiGroups: [G], resources: ["rolebindings", "roles"] }] });
await bind("trusted", "ClusterRole", "trusted", U("trudy"));
await setup("POST", `${R}/clusterroles`, { metadata: { name: "writer" }, rules: [{ verbs: ["*"], apiGroups: [G], resources: ["clusterroles", "clusterrolebindings"] }] });
await cbind("writer", "writer", U("wanda"));
await setup("POST", `${R}/clusterroles`, { metadata: { name: "imp" }, rules: [{ verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: ["robby"] }] });
await cbind("imp", "imp", U("imp"));
await new Promise((r) => setTimeout(r, 2000));
const as = (user: string, ...groups: string[]) => ({ "impersonate-user": user, ...(groups.length ? { "impersonate-group": groups } : {}) });
const users: [string, any][] = [["jane", as("jane")], ["vera", as("vera")], ["eve", as("eve", "editors")], ["adam", as("adam")], ["robot", as("system:serviceaccount:default:robot")], ["robot2", as("system:serviceaccount:other:robot")], ["ghost", as("ghost")], ["nora", as("nora")], ["uri", as("uri")], ["trudy", as("trudy")], ["wanda", as("wanda")], ["imp", as("imp")], ["anon", as("system:anonymous")], ["master", as("m", "system:masters")], ["unauth", as("x", "system:unauthenticated")], ["html", as("<b>&\"'")]];
const ns = "/api/v1/namespaces/default";
const reads = [`${ns}/pods`, "/api/v1/pods", `${ns}/pods/p`, `${ns}/pods?watch=true&timeoutSeconds=1`, `${ns}/pods/p?watch=true`, `${ns}/pods?fieldSelector=metadata.name%3Dp`, `${ns}/configmaps/c`, `${ns}/configmaps/d`, `${ns}/configmaps`, `${ns}/configmaps?fieldSelector=metadata.name%3Dc`, `${ns}/configmaps?fieldSelector=metadata.name%3Dc&watch=true&timeoutSeconds=1`, `${ns}/secrets`, `${ns}/secrets/s`, `${ns}/serviceaccounts`, `${ns}/services`, `${ns}/events`, `${ns}/endpoints`, `${ns}/persistentvolumeclaims`, ns, "/api/v1/namespaces", "/api/v1/namespaces/other", `${ns}/status`, "/api/v1/nodes", "/api/v1/nodes/n", "/api/v1/persistentvolumes", `${R}/clusterroles`, `${R}/clusterroles/urls`, ro, rb, `${R}/roles`, "/apis/coordination.k8s.io/v1/namespaces/default/leases", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", "/apis/node.k8s.io/v1/runtimeclasses", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "/apis/storage.k8s.io/v1/storageclasses", "/apis/scheduling.k8s.io/v1/priorityclasses", "/api", "/api/v1", "/apis", "/apis/rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1", "/version", "/healthz", "/livez", "/readyz", "/", "/nowhere", "/logs/x", "/openid/v1/jwks", "/.well-known/openid-configuration", "/apis/no.such/v1/namespaces/default/things/x/status", "/apis/no.such/v1/things", `${ns}/x%3Cb%3E`, `${ns}/pods/p/exec?command=ls&stdout=true`, `${ns}/serviceaccounts/robot/token`];
const bad = new Map<string, string[]>();
let count = 0, same = 0;
function compare(label: string, x: { real: any; ours: any }, opts: { bodyToo?: (b: any) => any } = {}) {
  count += 1;
  const canon = (v: any): any => Array.isArray(v) ? v.map(canon) : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, canon(v[k])])) : v;
  const pick = (a: any) => {
    const msg = a.status >= 400 ? (typeof a.body === "string" ? a.body : JSON.stringify(canon({ m: a.body.message, r: a.body.reason, d: a.body.details }))) : opts.bodyToo ? JSON.stringify(canon(opts.bodyToo(a.body))) : "";
    return `${a.status} ${msg}`;
  };
  const [r, o] = [pick(x.real), pick(x.ours)];
  if (r === o) { same += 1; return; }
  console.log(`DIFF ${label}\n   real ${r.slice(0, 900)}\n   ours ${o.slice(0, 900)}`);
}
for (const [name, h] of users) for (const path of reads) compare(`${name} GET ${path}`, await both("GET", path, undefined, h));
const writes: [string, string, unknown?][] = [["POST", `${ns}/configmaps`, { metadata: { name: "zz" } }], ["PUT", `${ns}/configmaps/c`, { metadata: { name: "c" } }], ["PATCH", `${ns}/configmaps/c`, { data: { a: "b" } }], ["DELETE", `${ns}/configmaps/zz`], ["DELETE", `${ns}/configmaps?labelSelector=x%3Dy`], ["POST", "/api/v1/namespaces", { metadata: { name: "default" } }], ["PATCH", `${ns}/pods/p/status`, {}], ["POST", `${ns}/pods/p/eviction`, {}], ["POST", `${ns}/serviceaccounts/robot/token`, { spec: { expirationSeconds: 60 } }], ["POST", `${ns}/pods/p/exec`, undefined], ["DELETE", "/api/v1/nodes"], ["POST", "/healthz"]];
for (const [name, h] of users) for (const [m, p, b] of writes) compare(`${name} ${m} ${p}`, await both(m, p, b, h));
const rule = (verbs: string[], resources: string[], apiGroups = [""], more = {}) => ({ verbs, apiGroups, resources, ...more });
const escal: [string, string, any][] = [["POST", ro, { metadata: { name: "r1" }, rules: [rule(["get", "list"], ["nodes", "pods"]), rule(["get"], ["secrets"])] }], ["POST", ro, { metadata: { name: "r2" }, rules: [rule(["*"], ["*"], ["*"])] }], ["POST", ro, { metadata: { name: "r3" }, rules: [rule(["get"], ["pods"], [""], { resourceNames: ["a", "b"] }), rule(["use"], ["x"], ["y"], { resourceNames: ["b", "a"] })] }], ["POST", ro, { metadata: { name: "r4" }, rules: [] }], ["POST", rb, { metadata: { name: "b1" }, roleRef: { apiGroup: G, kind: "ClusterRole", name: "cluster-admin" }, subjects: [] }], ["POST", rb, { metadata: { name: "b2" }, roleRef: { apiGroup: G, kind: "ClusterRole", name: "view" }, subjects: [] }], ["POST", rb, { metadata: { name: "b3" }, roleRef: { apiGroup: G, kind: "ClusterRole", name: "gone" }, subjects: [] }], ["POST", rb, { metadata: { name: "b4" }, roleRef: { apiGroup: G, kind: "Role", name: "gone" }, subjects: [] }], ["POST", `${R}/clusterroles`, { metadata: { name: "c1" }, rules: [{ verbs: ["get"], nonResourceURLs: ["/x", "/y/*"] }] }], ["POST", `${R}/clusterroles`, { metadata: { name: "c2" }, aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] }, rules: [] }], ["POST", `${R}/clusterrolebindings`, { metadata: { name: "d1" }, roleRef: { apiGroup: G, kind: "ClusterRole", name: "view" }, subjects: [] }], ["POST", `${R}/clusterrolebindings`, { metadata: { name: "d2" }, roleRef: { apiGroup: G, kind: "ClusterRole", name: "writer" }, subjects: [] }], ["PATCH", `${ro}/named`, { metadata: { labels: { a: "b" } } }], ["PATCH", `${ro}/named`, { metadata: { finalizers: [] } }], ["PATCH", `${R}/clusterroles/view`, { metadata: { labels: { q: "b" } } }]];
for (const [name, h] of [["adam", as("adam")], ["trudy", as("trudy")], ["wanda", as("wanda")], ["vera", as("vera")]] as const) for (const [m, p, b] of escal) { const body = structuredClone(b); if (body.metadata?.name) body.metadata.name += name; compare(`${name} ${m} ${p} ${JSON.stringify(b).slice(0, 120)}`, await both(m, p, body, h)); }
const A = "/apis/authorization.k8s.io/v1";
const ra = (verb: string, resource: string, more = {}) => ({ resourceAttributes: { verb, resource, namespace: "default", ...more } });
const sars = [{ user: "vera", ...ra("list", "pods") }, { user: "vera", ...ra("delete", "pods") }, { user: "x", groups: ["editors"], ...ra("get", "secrets") }, { groups: ["system:masters"], ...ra("get", "secrets") }, { user: "ghost", ...ra("get", "pods") }, { user: "system:serviceaccount:default:robot", ...ra("list", "pods") }, { user: "nora", ...ra("get", "configmaps", { name: "c" }) }, { user: "nora", ...ra("get", "configmaps") }, { user: "nora", ...ra("create", "pods", { subresource: "exec" }) }, { user: "nora", ...ra("update", "deployments", { group: "apps", subresource: "scale" }) }, { user: "u", groups: ["system:authenticated"], nonResourceAttributes: { verb: "get", path: "/api/v1" } }, { user: "uri", nonResourceAttributes: { verb: "get", path: "/logs/a/b" } }, { user: "uri", nonResourceAttributes: { verb: "get", path: "/logs" } }, {}, { user: "x" }, { user: "a", ...ra("get", "x"), nonResourceAttributes: { path: "/x", verb: "get" } }, { ...ra("get", "pods") }, { user: "vera", ...ra("*", "*", { group: "*" }) }];
for (const spec of sars) compare(`SAR ${JSON.stringify(spec)}`, await both("POST", `${A}/subjectaccessreviews`, { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec }), { bodyToo: (b) => [b.spec, b.status] });
for (const spec of sars) compare(`LSAR ${JSON.stringify(spec)}`, await both("POST", `${A}/namespaces/default/localsubjectaccessreviews`, { apiVersion: "authorization.k8s.io/v1", kind: "LocalSubjectAccessReview", metadata: { namespace: "default" }, spec }), { bodyToo: (b) => [b.spec, b.status] });
for (const [name, h] of users) { for (const spec of sars.slice(0, 6)) { const { user, groups, ...self } = spec as any; compare(`SSAR ${name} ${JSON.stringify(self)}`, await both("POST", `${A}/selfsubjectaccessreviews`, { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: self }, h), { bodyToo: (b) => [b.spec, b.status] }); }
  compare(`SSR ${name}`, await both("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }, h), { bodyToo: (b) => b.status });
  if (["nora", "uri", "jane", "ghost", "anon"].includes(name)) compare(`SSRR ${name}`, await both("POST", `${A}/selfsubjectrulesreviews`, { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace: "default" } }, h), { bodyToo: (b) => ({ ...b.status, resourceRules: b.status.resourceRules.map((r: any) => JSON.stringify(r, Object.keys(r).sort())).sort(), nonResourceRules: b.status.nonResourceRules.map((r: any) => JSON.stringify({ verbs: r.verbs, u: [...r.nonResourceURLs].sort() })).sort() }) }); }
compare("SSRR empty", await both("POST", `${A}/selfsubjectrulesreviews`, { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: {} }));
// tokens
const norm = (b: any) => ({ ...b, metadata: Object.keys(b.metadata).filter((k) => k !== "managedFields").sort(), spec: b.spec, status: Object.keys(b.status) });
const sa = `${ns}/serviceaccounts/robot/token`;
const TR = (spec: any, metadata = {}) => ({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata, spec });
for (const [label, b] of Object.entries({ plain: TR({}), short: TR({ expirationSeconds: 10 }), long: TR({ expirationSeconds: 2 ** 33 }), aud: TR({ audiences: ["a", "b"] }), name: TR({}, { name: "x" }), pod: TR({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "nope" } }), secret: TR({ boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "nope" } }), cm: TR({ boundObjectRef: { kind: "ConfigMap", apiVersion: "v1", name: "c" } }), uid: TR({}, { uid: "x" }) })) compare(`token ${label}`, await both("POST", sa, b), { bodyToo: norm });
compare("token of nobody", await both("POST", `${ns}/serviceaccounts/nobody/token`, TR({})));
const tokens = await both("POST", sa, TR({}));
const claims = (t: string) => { const c = JSON.parse(Buffer.from(t.split(".")[1]!, "base64url").toString()); return { keys: Object.keys(c), k: c["kubernetes.io"] && Object.keys(c["kubernetes.io"]), aud: c.aud, iss: c.iss, sub: c.sub, head: Object.keys(JSON.parse(Buffer.from(t.split(".")[0]!, "base64url").toString())), n: c.exp - c.iat, nb: c.nbf - c.iat }; };
console.log("claims real", JSON.stringify(claims(tokens.real.body.status.token))); console.log("claims ours", JSON.stringify(claims(tokens.ours.body.status.token)));
const review = async (f: (n: Name) => string, audiences?: string[]) => { const out: any = {}; for (const n of ["real", "ours"] as const) out[n] = await send(n, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: f(n), audiences } }); return out; };
const rs = (b: any) => JSON.parse(JSON.stringify(b.status).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UUID"));
compare("review good", await review((n) => tokens[n].body.status.token), { bodyToo: rs });
compare("review aud", await review((n) => tokens[n].body.status.token, ["vault"]), { bodyToo: rs });
compare("review junk", await review(() => "junk"), { bodyToo: rs });
compare("review empty", await review(() => ""), { bodyToo: rs });
compare("review tampered", await review((n) => tokens[n].body.status.token.slice(0, -4) + "AAAA"), { bodyToo: rs });
for (const n of ["a.b.c", "junk"]) compare(`bearer ${n}`, await both("GET", `${ns}/pods`, undefined, { authorization: `Bearer ${n}` }));
for (const n of ["real", "ours"] as const) console.log(n, "robot", (await send(n, "GET", `${ns}/pods`, undefined, { authorization: `Bearer ${tokens[n].body.status.token}` })).status);
await both("DELETE", `${ns}/serviceaccounts/robot`);
await new Promise((r) => setTimeout(r, 11000));
compare("review deleted", await review((n) => tokens[n].body.status.token), { bodyToo: rs });
// impersonation by imp
for (const [label, h] of Object.entries({ user: { "impersonate-user": "root" }, group: { "impersonate-user": "robby", "impersonate-group": "g" }, nouser: { "impersonate-group": "g" }, uid: { "impersonate-user": "robby", "impersonate-uid": "1" }, extra: { "impersonate-user": "robby", "impersonate-extra-a%2fb": "v" }, sa: { "impersonate-user": "system:serviceaccount:default:x" } })) compare(`impersonation by admin ${label}`, await both("GET", `${ns}/pods`, undefined, h));
console.log(`${same} of ${count} the same`);
await real.stop(); await ours.close(); agent.destroy();
