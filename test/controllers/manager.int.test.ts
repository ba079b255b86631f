import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  type NetworkPolicy,
  type SandboxClaim,
  sandboxClaims,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { createApiServer } from "@agent-sandbox/apiserver";
import {
  type Client,
  createClient,
  type Informer,
  Informers,
  type KubeObject,
  type Resource,
} from "@agent-sandbox/kube";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ManagerProcess } from "./manager-process.ts";
import { startPodFaker } from "./pod-faker.ts";

interface Lease extends KubeObject {
  readonly spec?: { readonly holderIdentity?: string };
}
const leases: Resource<Lease> = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};
const networkPolicies: Resource<NetworkPolicy> = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};
const apiVersion = "extensions.agents.x-k8s.io/v1beta1";

const owned = new AsyncDisposableStack();
let client: Client;
let collector: { readonly url: string; readonly received: string[] };
let kubeconfig: string;
let folder: string;
let claims: Informer<SandboxClaim>;
let leaseCache: Informer<Lease>;

beforeAll(async () => {
  folder = owned.adopt(mkdtempSync(join(tmpdir(), "manager-")), (path) => rmSync(path, { recursive: true }));
  collector = await openCollector();
  const server = owned.use(await createApiServer({ nodeName: "node-1" }));
  kubeconfig = join(folder, "kubeconfig");
  (await server.listen()).writeKubeconfig(kubeconfig);
  client = createClient(server.transport);
  const informers = owned.use(new Informers({ client }));
  owned.use(startPodFaker({ client, informers }));
  claims = informers.get(sandboxClaims);
  leaseCache = informers.get(leases);
  for (const namespace of ["watched", "unwatched"]) {
    await client.create(
      { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
      { metadata: { name: namespace } },
    );
    const [metadata, spec] = [
      { name: "pool", namespace },
      { podTemplate: { spec: { containers: [{ name: "c", image: "host" }] } } },
    ];
    await client.create(sandboxTemplates, { apiVersion, kind: "SandboxTemplate", metadata, spec });
    const pool = { replicas: 1, sandboxTemplateRef: { name: "pool" } };
    await client.create(sandboxWarmPools, { apiVersion, kind: "SandboxWarmPool", metadata, spec: pool });
  }
});
afterAll(() => owned.disposeAsync());

/** A collector that records the spans. */
async function openCollector(): Promise<typeof collector> {
  const received: string[] = [];
  const server = owned.adopt(
    createServer((request, response) => {
      const take = async (): Promise<void> => {
        received.push(`${request.url} ${await text(request)}`);
        response.end("{}");
      };
      void take();
    }),
    (open) => void open.close(),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

async function until<T extends KubeObject>(informer: Informer<T>, isIt: (object: T) => boolean): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  using _ = informer.subscribe(() => {
    const found = informer.list().find(isIt);
    if (found !== undefined) resolve(found);
  });
  return await promise;
}

const holds =
  (identity: unknown) =>
  ({ spec }: Lease) =>
    spec?.holderIdentity === identity;
const isReady =
  (name: string) =>
  ({ metadata, status }: SandboxClaim) =>
    metadata.name === name &&
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;

function createClaim(name: string, namespace: string): Promise<SandboxClaim> {
  const spec = { warmPoolRef: { name: "pool" } };
  return client.create(sandboxClaims, { apiVersion, kind: "SandboxClaim", metadata: { name, namespace }, spec });
}

const flags = [
  "--watch-namespaces=watched",
  "--router-namespace=platform",
  "--enable-webhook=false",
  "--enable-tracing",
];
// The embedded server converts by itself and does not allow changes of its own CRDs.
const start = (): ManagerProcess =>
  owned.use(
    new ManagerProcess(kubeconfig, flags, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    }),
  );

const get = async (port: unknown, path: string): Promise<{ status: number; body: string }> => {
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`);
  return { status: response.status, body: await response.text() };
};

test("one of two managers works, and the other takes over after a crash and after a clean stop (MANAGER-11)", async () => {
  const first = start();
  const { identity, health, metrics } = await first.said("manager started");
  await first.said("controllers started");
  await until(leaseCache, holds(identity));
  expect(await get(health, "/readyz")).toEqual({ status: 200, body: "ok" });
  expect(await get(health, "/healthz")).toEqual({ status: 200, body: "ok" });

  await createClaim("one", "watched");
  await createClaim("strangers", "unwatched");
  await until(claims, isReady("one"));
  const { body } = await get(metrics, "/metrics");
  expect(body).toContain(
    'agent_sandbox_claim_creation_total{namespace="watched",sandbox_template="pool",launch_type="warm",warmpool_name="pool"',
  );
  expect(body).toContain('leader_election_master_status{name="a3317529.agent-sandbox.x-k8s.io"} 1');
  expect(body).toMatch(/^agent_sandboxes\{namespace="watched",.*owned_by="SandboxClaim"/m);
  expect((await get(metrics, "/debug/pprof/profile")).status).toBe(404);
  const policy = await client.get(networkPolicies, { namespace: "watched", name: "pool-network-policy" });
  expect(policy.spec?.ingress?.[0]?.from?.[0]?.namespaceSelector?.matchLabels).toEqual({
    "kubernetes.io/metadata.name": "platform",
  });

  const second = start();
  const follower = await second.said("manager started");
  // Ready when it has read that another replica holds the lease.
  while ((await get(follower["health"], "/readyz")).status !== 200);
  await first.kill();
  await until(leaseCache, holds(follower["identity"]));
  await createClaim("two", "watched");
  await until(claims, isReady("two"));

  const third = start();
  const { identity: last } = await third.said("manager started");
  expect(await second.stop()).toBe(0);
  expect(collector.received.join()).toMatch(/^\/v1\/traces .*"name":"ReconcileSandboxClaim"/);
  await until(leaseCache, holds(last));
  await createClaim("three", "watched");
  await until(claims, isReady("three"));
  expect(claims.get("unwatched/strangers")?.status).toBeUndefined();
});
