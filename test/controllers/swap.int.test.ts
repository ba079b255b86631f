import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  isConditionTrue,
  type Pod,
  type Sandbox,
  type SandboxClaim,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { podCache, pods, services, volumeClaims } from "@agent-sandbox/controllers";
import {
  type Client,
  createClient,
  HttpTransport,
  type Informer,
  Informers,
  type KubeObject,
  loadKubeconfig,
} from "@agent-sandbox/kube";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installCrds } from "../kube-apiserver/install-crds.ts";
import { startKubernetes } from "../kube-apiserver/start.ts";
import { ManagerProcess } from "./manager-process.ts";
import { startPodFaker } from "./pod-faker.ts";
import {
  claimFacts,
  foreignFinalizers,
  podFacts,
  policyFacts,
  poolFacts,
  sandboxFacts,
  serviceFacts,
  strayKeys,
  templateFacts,
  volumeFacts,
} from "./reference-facts.ts";
import {
  leaseName,
  leases,
  namespace,
  networkPolicies,
  ReferenceObjects,
  systemNamespace,
} from "./reference-objects.ts";
import { StormProxy } from "./storm-proxy.ts";

const timeout = 120_000;
const owned = new AsyncDisposableStack();
let client: Client;
let proxy: StormProxy;
let kubeconfig: string;
let manager: ManagerProcess;
let claims: Informer<SandboxClaim>;
let sandboxCache: Informer<Sandbox>;
let podsNow: Informer<Pod>;
/** Pods that were deleted, from the beginning. */
const deleted = new Set<string>();

beforeAll(async () => {
  const kubernetes = owned.use(await startKubernetes({ prepare: installCrds }));
  const { access, error } = await loadKubeconfig({ path: kubernetes.admin.kubeconfig });
  if (access === undefined) throw new Error(error);
  const transport = owned.adopt(new HttpTransport(access), (open) => open.close());
  client = createClient(transport);
  for (const name of [namespace, systemNamespace]) {
    await client.create(
      { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
      { metadata: { name } },
    );
  }
  await new ReferenceObjects(client).create();
  const informers = owned.use(new Informers({ client }));
  claims = informers.get(sandboxClaims);
  sandboxCache = informers.get(sandboxes);
  podsNow = podCache(informers);
  owned.use(
    podsNow.subscribe(({ deltas }) => {
      for (const { old, new: pod } of deltas)
        if (isGoing(pod) || pod === undefined) deleted.add(old?.metadata?.name ?? "");
    }),
  );
  owned.use(startPodFaker({ client, informers }));
  await informers.synced();
  proxy = owned.use(await StormProxy.open(transport, () => 1));
  const folder = owned.adopt(mkdtempSync(join(tmpdir(), "swap-")), (path) => rmSync(path, { recursive: true }));
  kubeconfig = join(folder, "kubeconfig");
  proxy.writeKubeconfig(kubeconfig);
}, timeout);
afterAll(() => owned.disposeAsync(), timeout);

const isGoing = (pod: Pod | undefined): boolean => pod?.metadata?.deletionTimestamp !== undefined;
const key = (name: string): string => `${namespace}/${name}`;
const uids = (): Record<string, string | undefined> =>
  Object.fromEntries(podsNow.list().map(({ metadata }) => [metadata?.name, metadata?.uid]));
const boundTo = (): Record<string, string | undefined> =>
  Object.fromEntries(claims.list().map(({ metadata, status }) => [metadata.name, status?.sandbox?.name]));

/** The writes so far, without the lease and events, once there were none for some seconds. */
async function writesWhenQuiet(): Promise<string[]> {
  const seen = (): string[] => proxy.written.filter((what) => !/\/(leases|events)(\/|$)/.test(what));
  for (let before = -1; before !== seen().length; ) {
    before = seen().length;
    await sleep(3_000);
  }
  return seen().map((what) => what.replace(/\/apis?\/.*\/namespaces\/demo\//, ""));
}

async function until<T extends KubeObject>(
  informer: Informer<T>,
  name: string,
  holds: (object: T) => boolean,
): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const look = (): void => {
    const object = informer.get(key(name));
    if (object !== undefined && holds(object)) resolve(object);
  };
  using _ = informer.subscribe(look);
  look();
  return await promise;
}

const isReady = ({ status }: SandboxClaim | Sandbox): boolean => isConditionTrue(status?.conditions, "Ready");

test("takes over what the reference left: no Pod is deleted, and each claim keeps its Sandbox (SWAP-1, SWAP-2)", {
  timeout,
}, async () => {
  const before = { pods: uids(), bound: boundTo() };
  manager = owned.use(
    new ManagerProcess(kubeconfig, ["--enable-webhook=false", `--leader-election-namespace=${systemNamespace}`]),
  );
  await manager.said("controllers started");
  const writes = await writesWhenQuiet();
  expect({ pods: uids(), bound: boundTo() }).toEqual(before);
  expect([...deleted]).toEqual([]);
  expect(claims.list().filter(isReady)).toHaveLength(2);
  // The conditions that only we write.
  expect(writes).toEqual(["PATCH sandboxwarmpools/p/status"]);
});

test("serves claims from the members that the reference made, and keeps everything else working (SWAP-3)", {
  timeout,
}, async () => {
  const podsBefore = uids();
  // The reference had chosen a member for this claim when it stopped.
  await createClaim("later", {}, { "agents.x-k8s.io/sandbox-name": "p-xzbdc" });
  await createClaim("late", {});
  await createClaim("late-cold", { env: [{ name: "A", value: "c" }] });
  const bound = await Promise.all(["late", "later", "late-cold"].map((name) => until(claims, name, isReady)));
  expect(bound.map(({ status }) => status?.sandbox?.name)).toEqual(["p-mdlp5", "p-xzbdc", "late-cold"]);
  await client.patch(
    sandboxes,
    { namespace, name: "asleep" },
    { type: "merge", body: { spec: { operatingMode: "Running" } } },
  );
  await client.patch(
    sandboxes,
    { namespace, name: "direct" },
    { type: "merge", body: { spec: { operatingMode: "Suspended" } } },
  );
  await until(sandboxCache, "asleep", isReady);
  await until(sandboxCache, "direct", ({ status }) => isConditionTrue(status?.conditions, "Suspended"));
  await writesWhenQuiet();
  expect([...deleted]).toEqual(["direct"]);
  const { direct: _, ...kept } = podsBefore;
  expect(uids()).toMatchObject(kept);
});

test("leaves every fact that the reference reads, and a free lease (SWAP-4, SWAP-5)", { timeout }, async () => {
  expect(await manager.stop()).toBe(0);
  const { items: templates } = await client.list(sandboxTemplates, { namespace });
  const { items: pools } = await client.list(sandboxWarmPools, { namespace });
  const { items: claimed } = await client.list(sandboxClaims, { namespace });
  const { items: made } = await client.list(sandboxes, { namespace });
  const { items: running } = await client.list(pods, { namespace });
  const { items: volumes } = await client.list(volumeClaims, { namespace });
  const { items: exposed } = await client.list(services, { namespace });
  const { items: policies } = await client.list(networkPolicies, { namespace });
  const sandboxOf = (child: { metadata?: { ownerReferences?: readonly { uid: string }[] } }): Sandbox =>
    made.find(({ metadata }) => metadata.uid === child.metadata?.ownerReferences?.[0]?.uid) as Sandbox;

  for (const template of templates) {
    expect(template).toMatchObject(templateFacts(template));
    expect(policies).toMatchObject([policyFacts(template)]);
  }
  for (const pool of pools) expect(pool).toMatchObject(poolFacts(pool));
  for (const claim of claimed) {
    const bound = made.find(({ metadata }) => metadata.ownerReferences?.[0]?.uid === claim.metadata.uid);
    expect(claim).toMatchObject(claimFacts(claim, bound));
  }
  for (const sandbox of made) expect(sandbox).toMatchObject(sandboxFacts(sandbox));
  for (const pod of running) {
    expect(pod).toMatchObject(podFacts(pod, sandboxOf(pod)));
    expect(strayKeys(pod, sandboxOf(pod))).toEqual([]);
  }
  for (const volume of volumes) expect(volume).toMatchObject(volumeFacts(volume, sandboxOf(volume)));
  for (const service of exposed) expect(service).toMatchObject(serviceFacts(sandboxOf(service)));
  // Two members, five claims that have a Sandbox, and three Sandboxes of their own, of which one runs and one has a Service.
  expect([claimed.length, made.length, running.length, volumes.length, exposed.length]).toEqual([6, 10, 8, 7, 1]);
  const all = [templates, pools, claimed, made, running, volumes, exposed, policies].flat();
  expect(all.flatMap(foreignFinalizers)).toEqual([]);
  const lease = await client.get(leases, { namespace: systemNamespace, name: leaseName });
  expect(lease.spec?.holderIdentity ?? "").toBe("");
});

async function createClaim(
  name: string,
  spec: Partial<SandboxClaim["spec"]>,
  annotations: Record<string, string> = {},
): Promise<void> {
  await client.create(sandboxClaims, {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { name, namespace, annotations },
    spec: { warmPoolRef: { name: "p" }, ...spec },
  });
}
