import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import { lastActivityAnnotation, sandboxNameHashLabel } from "@agent-sandbox/api";
import { crds } from "@agent-sandbox/api/crds";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { installCrds } from "../kube-apiserver/install-crds.ts";
import { type Kubernetes, type KubernetesServer, startKubernetes } from "../kube-apiserver/start.ts";
import { RouterProcess } from "./router-process.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const documents = (file: string) =>
  parseAllDocuments(readFileSync(join(deploy, file), "utf8")).map((document) => document.toJS() as Manifest);

interface Manifest {
  readonly kind: string;
  readonly rules?: readonly { readonly resources: string[]; readonly verbs: string[] }[];
  readonly spec?: {
    readonly template?: {
      readonly spec: { readonly containers: { readonly command: string[]; readonly args: string[] }[] };
    };
  };
}

const account = "system:serviceaccount:agent-sandbox-system:sandbox-router";
const podIp = "127.77.0.1";
const runtimePort = 8888;
const isCore = ({ metadata }: { metadata: { name?: string } }) => metadata.name === "sandboxes.agents.x-k8s.io";

const stack = new AsyncDisposableStack();
let kubernetes: Kubernetes;
let auditLog: string;
let kubeconfig: string;
let router: RouterProcess;
let webPort: number;
/** Requests to `/slow`, which the test answers. */
const slow: ServerResponse[] = [];

beforeAll(async () => {
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), "router-audit-")), (made) => rmSync(made, { recursive: true }));
  auditLog = join(folder, "audit.log");
  const prepare = (server: KubernetesServer): Promise<void> => installCrds(server, { crds: crds.filter(isCore) });
  kubernetes = stack.use(await startKubernetes({ users: [{ name: "alice" }, { name: "bob" }], auditLog, prepare }));
  await kubectl("create", "namespace", "agent-sandbox-system");
  const isAccess = ({ kind }: Manifest): boolean => kind === "ServiceAccount" || kind.startsWith("ClusterRole");
  for (const object of documents("router.yaml").filter(isAccess)) await create(object);
  kubeconfig = await accountKubeconfig();
  webPort = await servePod(0);
  await servePod(runtimePort);
});
afterAll(() => stack.disposeAsync());

async function kubectl(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(words);
  if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
  return stdout;
}

async function create(object: object): Promise<{ metadata: { uid: string } }> {
  const outcome = await kubernetes.kubectl(["create", "-f", "-", "-o", "json"], { stdin: JSON.stringify(object) });
  if (outcome.code !== 0) throw new Error(outcome.stderr);
  return JSON.parse(outcome.stdout) as { metadata: { uid: string } };
}

const patchStatus = (resource: string, status: object): Promise<string> =>
  kubectl("patch", ...resource.split("/"), "--subresource=status", "--type=merge", "-p", JSON.stringify({ status }));

/** A kubeconfig of the router's service account. */
async function accountKubeconfig(): Promise<string> {
  const token = await kubectl("-n", "agent-sandbox-system", "create", "token", "sandbox-router");
  const config = JSON.parse(readFileSync(kubernetes.admin.kubeconfig, "utf8")) as { users: { user: object }[] };
  for (const entry of config.users) entry.user = { token: token.trim() };
  const path = join(kubernetes.folder, "router.kubeconfig");
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** The server in the Pods. Responds with the headers that the router set. */
async function servePod(port: number): Promise<number> {
  const server = createServer((asked, response) => {
    if (asked.url === "/slow") slow.push(response);
    else response.end(JSON.stringify({ path: asked.url, token: asked.headers["x-sandbox-token"] ?? null }));
  });
  stack.defer(() => void server.close());
  server.listen(port, podIp);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function makeSandbox(name: string, spec: object = {}): Promise<string> {
  const { metadata } = await create({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name, namespace: "default" },
    spec: { podTemplate: { spec: { containers: [{ name: "main", image: "any" }] } }, ...spec },
  });
  return metadata.uid;
}

async function makePod(name: string, sandboxUid: string): Promise<void> {
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid: sandboxUid, controller: true };
  const labels = { [sandboxNameHashLabel]: "hash" };
  await create({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels, ownerReferences: [owner] },
    spec: { containers: [{ name: "main", image: "any" }] },
  });
  const conditions = [{ type: "Ready", status: "True" }];
  await patchStatus(`pod/${name}`, { phase: "Running", podIP: podIp, podIPs: [{ ip: podIp }], conditions });
}

/** The flags of the Deployment, with paths of this machine instead of those in the container. */
function startRouter(...more: string[]): RouterProcess {
  const keyFile = join(kubernetes.folder, "router.key");
  writeFileSync(keyFile, "k".repeat(64), { mode: 0o600 });
  const deployment = documents("router.yaml").find(({ kind }) => kind === "Deployment");
  const { command, args: flags = [] } = deployment?.spec?.template?.spec.containers[0] ?? {};
  expect(command?.at(-1)).toBe("router");
  const local = flags.map((flag) => flag.replace("/etc/sandbox-router/keys/key", keyFile));
  return new RouterProcess([...local, `--kubeconfig=${kubeconfig}`, "--wake-timeout=3s", ...more]);
}

async function ask(name: string, port: number, { token, path = "/" }: { token?: string; path?: string } = {}) {
  const headers = {
    "x-sandbox-id": name,
    "x-sandbox-port": String(port),
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const { url } = await router.started;
  const sent = request(url, { path, headers, agent: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, body: (await json(response)) as object };
}

const status = async (...given: Parameters<typeof ask>): Promise<number | undefined> => (await ask(...given)).status;

async function eventually(probe: () => unknown, expected: unknown): Promise<void> {
  await expect.poll(probe, { timeout: 30_000 }).toBe(expected);
}

test("the API server accepts the manifests", async () => {
  for (const file of ["router-runtime-rbac.yaml", "router.yaml"]) {
    const checked = await kubectl("create", "--dry-run=server", "--validate=strict", "-f", join(deploy, file)).catch(
      (error: Error) => error.message,
    );
    // The account and its role exist already.
    const complaints = checked.split("\n").filter((line) => line.includes("rror") && !line.includes("already exists"));
    expect(complaints).toEqual([]);
  }
});

test("serves a cluster without SandboxClaims", async () => {
  await makePod("web", await makeSandbox("web"));
  await kubectl("create", "clusterrole", "sandbox-user", "--verb=connect", "--resource=sandboxes.agents.x-k8s.io");
  await kubectl("create", "rolebinding", "alice", "--clusterrole=sandbox-user", "--user=alice");
  await using core = startRouter();
  router = core;
  const { token } = kubernetes.user("alice");
  await eventually(() => status("web", webPort, { token }), 200);
  expect(core.lines.map(({ msg }) => msg)).toContain(
    "the cluster does not serve SandboxClaims: restart the router after they are installed",
  );
  expect(await core.stop()).toBe(0);
});

test("allows only users who may connect, also by the name of a claim", async () => {
  await installCrds(kubernetes, { crds: crds.filter((crd) => !isCore(crd)) });
  const uid = await makeSandbox("held");
  await makePod("held", uid);
  const { metadata } = await create({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { name: "mine", namespace: "default" },
    spec: { warmPoolRef: { name: "any" } },
  });
  const label = `agents.x-k8s.io/claim-uid=${metadata.uid}`;
  await kubectl("label", "sandbox", "held", label);
  await patchStatus("sandboxclaim/mine", { sandbox: { name: "held" } });
  router = stack.use(startRouter());
  const { probesAddress, metricsAddress } = await router.started;
  const [alice, bob] = [kubernetes.user("alice"), kubernetes.user("bob")];
  await eventually(() => status("mine", webPort, alice), 200);
  expect([
    await status("web", webPort, alice),
    await status("web", webPort, bob),
    await status("web", webPort),
  ]).toEqual([200, 403, 401]);
  expect(await status("web", webPort, { token: "forged" })).toBe(401);
  expect((await fetch(`http://127.0.0.1:${probesAddress.port}/readyz`)).status).toBe(200);
  const metrics = await (await fetch(`http://127.0.0.1:${metricsAddress.port}/metrics`)).text();
  expect(metrics).toContain("sandbox_router_");
});

test("wakes a sleeping sandbox", async () => {
  await makeSandbox("idle", { idlePolicy: { suspendAfterSeconds: 60 } });
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const suspended = { type: "Suspended", status: "True", reason: "Idle", message: "", lastTransitionTime };
  await patchStatus("sandbox/idle", { conditions: [suspended] });
  const annotation = `go-template={{index .metadata.annotations "${lastActivityAnnotation}"}}`;
  await eventually(() => status("idle", webPort, kubernetes.user("alice")), 503);
  expect(Date.parse(await kubectl("get", "sandbox", "idle", "-o", annotation))).toBeGreaterThan(0);
});

test("reads the tokens of injected runtimes with the additional role", async () => {
  const uid = await makeSandbox("daemon", { runtime: "Injected" });
  await makePod("daemon", uid);
  await create({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "daemon-runtime",
      namespace: "default",
      ownerReferences: [{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "daemon", uid }],
    },
    stringData: { token: "runtime-token" },
  });
  const alice = kubernetes.user("alice");
  await eventually(() => status("daemon", webPort, alice), 200);
  expect(await status("daemon", runtimePort, alice)).toBe(500);
  await kubectl("apply", "-f", join(deploy, "router-runtime-rbac.yaml"));
  await eventually(() => status("daemon", runtimePort, alice), 200);
  expect((await ask("daemon", runtimePort, alice)).body).toEqual({ path: "/", token: "runtime-token" });
});

test("finishes requests in progress on SIGTERM", async () => {
  const { url, probesAddress } = await router.started;
  const headers = {
    "x-sandbox-id": "web",
    "x-sandbox-port": String(webPort),
    authorization: `Bearer ${kubernetes.user("alice").token}`,
  };
  const sent = request(url, { path: "/slow", headers, agent: false }).end();
  await eventually(() => slow.length, 1);
  const stopped = router.stop();
  await expect
    .poll(() =>
      fetch(url).then(
        () => "open",
        () => "closed",
      ),
    )
    .toBe("closed");
  const ready = await fetch(`http://127.0.0.1:${probesAddress.port}/readyz`);
  expect({ status: ready.status, text: await ready.text() }).toEqual({ status: 503, text: "draining" });
  slow[0]?.end("done");
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(await text(response)).toBe("done");
  expect(await stopped).toBe(0);
});

test("uses exactly the permissions of its roles", () => {
  const granted = ["router.yaml", "router-runtime-rbac.yaml"]
    .flatMap(documents)
    .flatMap(({ rules = [] }) => rules)
    .flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)));
  const events = readFileSync(auditLog, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ user, objectRef }) => user.username === account && objectRef !== undefined);
  const named = ({ verb, objectRef }: AuditEvent) => `${verb} ${objectRef?.resource}`;
  const used = events.map(named);
  expect(used.filter((permission) => !granted.includes(permission))).toEqual([]);
  // This API server supports streaming lists, so `list` is not used.
  expect(granted.filter((permission) => !used.includes(permission))).toEqual(["list pods"]);
  // Before it had the role for injected runtimes.
  const refused = events.filter(({ responseStatus }) => responseStatus?.code === 403);
  expect([...new Set(refused.map(named))]).toEqual(["get secrets"]);
});

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string };
  readonly responseStatus?: { readonly code: number };
}
