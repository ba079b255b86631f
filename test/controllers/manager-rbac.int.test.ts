import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  isConditionTrue,
  type Pod,
  type SandboxClaim,
  sandboxClaims,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { podCache, pods, secrets } from "@agent-sandbox/controllers";
import {
  type Client,
  createClient,
  HttpTransport,
  type Informer,
  Informers,
  keyOf,
  loadKubeconfig,
} from "@agent-sandbox/kube";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { installCrds } from "../kube-apiserver/install-crds.ts";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";
import { ManagerProcess } from "./manager-process.ts";
import { startPodFaker } from "./pod-faker.ts";

const home = "agent-sandbox-system";
const account = "agent-sandbox-controller";
const image = "registry.example/sandboxd:1";
const apiVersion = "extensions.agents.x-k8s.io/v1beta1";

const owned = new AsyncDisposableStack();
let kubernetes: Kubernetes;
let client: Client;
let claims: Informer<SandboxClaim>;
let podsSeen: Informer<Pod>;
let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  folder = owned.adopt(mkdtempSync(join(tmpdir(), "rbac-")), (path) => rmSync(path, { recursive: true }));
  kubernetes = owned.use(await startKubernetes({ controllers: [] }));
  await installCrds(kubernetes);
  const { access, error } = await loadKubeconfig({ path: kubernetes.admin.kubeconfig });
  if (access === undefined) throw new Error(error);
  client = owned.adopt(createClient(new HttpTransport(access)), (open) => open.close());
  const informers = owned.use(new Informers({ client }));
  owned.use(startPodFaker({ client, informers }));
  claims = informers.get(sandboxClaims);
  podsSeen = podCache(informers);
  for (const name of ["one", "two", "three"]) await kubectl("create", "namespace", name);
  await applyPart(({ kind }) => ["Namespace", "ServiceAccount", "Role", "RoleBinding"].includes(kind));
  kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigWith(await kubectl("create", "token", account, "-n", home)), { mode: 0o600 });
}, 120_000);
afterAll(() => owned.disposeAsync());

function kubeconfigWith(token: string): string {
  const cluster = { server: kubernetes.url, "certificate-authority": kubernetes.authority.certificate };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster }],
    users: [{ name: account, user: { token: token.trim() } }],
    contexts: [{ name: "test", context: { cluster: "test", user: account } }],
    "current-context": "test",
  });
}

async function kubectl(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(words);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

const deploy = join(import.meta.dirname, "../../deploy");
const clusterRoles = ({ kind }: { kind: string }): boolean => kind.startsWith("ClusterRole");

/** Applies or deletes objects of manifest.yaml and extensions.yaml. The CRDs need a Service, which does not exist here. */
async function applyPart(isWanted: (object: { kind: string }) => boolean, verb = "apply"): Promise<void> {
  const items = ["manifest.yaml", "extensions.yaml"]
    .flatMap((file) => parseAllDocuments(readFileSync(join(deploy, file), "utf8")))
    .map((document) => document.toJS() as { kind: string })
    .filter(isWanted);
  expect(items.length).toBeGreaterThan(0);
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  expect(await kubernetes.kubectl([verb, "-f", "-"], { stdin })).toMatchObject({ code: 0, stderr: "" });
}

/** All of them inject the runtime, so that Secrets are created too. */
async function createPool(namespace: string): Promise<void> {
  const metadata = { name: "pool", namespace };
  const podTemplate = { spec: { containers: [{ name: "c", image: "host", command: ["sleep", "1d"] }] } };
  const spec = { podTemplate, runtime: "Injected", service: true } as const;
  await client.create(sandboxTemplates, { apiVersion, kind: "SandboxTemplate", metadata, spec });
  const pool = { replicas: 1, sandboxTemplateRef: { name: "pool" } };
  await client.create(sandboxWarmPools, { apiVersion, kind: "SandboxWarmPool", metadata, spec: pool });
}

async function claimIn(namespace: string): Promise<SandboxClaim> {
  const spec = { warmPoolRef: { name: "pool" } };
  const metadata = { name: "claim", namespace };
  await client.create(sandboxClaims, { apiVersion, kind: "SandboxClaim", metadata, spec });
  const { promise, resolve } = Promise.withResolvers<SandboxClaim>();
  using _ = claims.subscribe(() => {
    const claim = claims.get(keyOf(metadata));
    if (claim !== undefined && isConditionTrue(claim.status?.conditions, "Ready")) resolve(claim);
  });
  return await promise;
}

function startManager(...flags: string[]): ManagerProcess {
  const own = [`--leader-election-namespace=${home}`, `--runtime-image=${image}`, `--webhook-cert-dir=${folder}`];
  return new ManagerProcess(kubeconfig, [...own, ...flags]);
}

/** Log lines about forbidden or failed actions. */
function troubleOf({ lines }: ManagerProcess): unknown[] {
  return lines.filter(({ level }) => Number(level) >= 40);
}

test("manifest.yaml and extensions.yaml let the manager serve every namespace and inject sandboxd (MANAGER-12)", async () => {
  await applyPart(clusterRoles);
  await createPool("one");
  await using manager = startManager();
  const { status } = await claimIn("one");
  const name = status?.sandbox?.name ?? "";
  const { spec } = await client.get(pods, { namespace: "one", name });
  expect(spec?.initContainers).toMatchObject([{ image, imagePullPolicy: "IfNotPresent" }]);
  await expect(client.get(secrets, { namespace: "one", name: `${name}-runtime` })).resolves.toMatchObject({});
  await expect(client.get(secrets, { namespace: home, name: "agent-sandbox-webhook-certs" })).resolves.toMatchObject(
    {},
  );
  expect(await manager.stop()).toBe(0);
  expect(troubleOf(manager)).toEqual([]);
}, 180_000);

test("manager-namespace-rbac.yaml lets the manager serve that namespace and nothing else (MANAGER-12)", async () => {
  await applyPart(clusterRoles, "delete");
  await kubectl("apply", "-f", join(deploy, "manager-namespace-rbac.yaml"), "-n", "two");
  await createPool("two");
  await createPool("three");
  await using manager = startManager("--watch-namespaces=two", "--enable-webhook=false");
  await claimIn("two");
  expect(await manager.stop()).toBe(0);
  expect(troubleOf(manager)).toEqual([]);
  expect(podsSeen.list().filter(({ metadata }) => metadata?.namespace === "three")).toEqual([]);
}, 180_000);
