/**
 * The router in a separate process, with scoped tokens and limits, on an API server in memory. The Sandbox `box` is awake, `runner`
 * contains sandboxd, and the sleepers get a Pod 20 ms after they are woken. Answers each message with the times of the last wake and its
 * memory.
 */
import {
  lastActivityAnnotation,
  type Sandbox,
  sandboxClaims,
  sandboxes,
  sandboxNameHashLabel,
} from "@agent-sandbox/api";
import { createClient, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { signingKey, startRouter } from "@agent-sandbox/router";

interface BenchRouterOptions {
  readonly podIp: string;
  readonly secret: string;
  readonly sleepers: number;
  /** The address of sandboxd, and its token. */
  readonly daemonIp: string;
  readonly daemonToken: string;
}

const options = JSON.parse(process.argv[2] ?? "{}") as BenchRouterOptions;
const { podIp, secret, sleepers, daemonIp, daemonToken } = options;
const podStartMs = 20;
const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
const secrets: Resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const withStatus = [sandboxes, sandboxClaims, pods].map((resource) => ({ ...resource, status: true }));
const api = new MemoryApiServer({ resources: [...withStatus, secrets] });
const client = createClient(api);

async function createSandbox(
  name: string,
  conditions: object[],
  more: Partial<Sandbox["spec"]> = {},
): Promise<Sandbox> {
  const key = { namespace: "default", name };
  const spec = { podTemplate: { spec: { containers: [] } }, idlePolicy: { suspendAfterSeconds: 600 }, ...more };
  await client.create(sandboxes, { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: key, spec });
  return client.patch(sandboxes, key, { type: "merge", body: { status: { conditions } } }, { subresource: "status" });
}

const ownerOf = ({ metadata: { name = "", uid = "" } }: Sandbox) => {
  return { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true };
};

async function createPod(sandbox: Sandbox, ip: string): Promise<void> {
  const key = { namespace: "default", name: sandbox.metadata.name ?? "" };
  const labels = { [sandboxNameHashLabel]: "h" };
  await client.create(pods, { metadata: { ...key, labels, ownerReferences: [ownerOf(sandbox)] } });
  const status = { phase: "Running", podIP: ip, conditions: [{ type: "Ready", status: "True" }] };
  await client.patch(pods, key, { type: "merge", body: { status } }, { subresource: "status" });
}

/** The machine's monotonic clock, which all processes share. */
const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const wake = { askedMs: 0, readyMs: 0 };

await createPod(await createSandbox("box", []), podIp);
const runner = await createSandbox("runner", [], { runtime: "Injected" });
const runtimeSecret = { name: "runner-runtime", namespace: "default", ownerReferences: [ownerOf(runner)] };
await client.create(secrets, {
  metadata: runtimeSecret,
  data: { token: Buffer.from(daemonToken).toString("base64") },
} as KubeObject);
await createPod(runner, daemonIp);
const idle = { type: "Suspended", status: "True", reason: "Idle", lastTransitionTime: "2026-01-01T00:00:00Z" };
for (let index = 0; index < sleepers; index += 1) await createSandbox(`sleeper-${index}`, [idle]);
api.onChange(({ object }) => {
  const sandbox = object as Sandbox;
  const isWoken = sandbox.metadata.annotations?.[lastActivityAnnotation] !== undefined;
  if (sandbox.kind !== "Sandbox" || !isWoken || !sandbox.metadata.name?.startsWith("sleeper-")) return;
  wake.askedMs = machineMs();
  setTimeout(() => void startPod(sandbox), podStartMs);
});

async function startPod(sandbox: Sandbox): Promise<void> {
  await createPod(sandbox, podIp);
  wake.readyMs = machineMs();
}

const key = signingKey(secret);
if ("error" in key) throw new Error(key.error);
const router = await startRouter({
  client,
  listen: { port: 0 },
  auth: { keys: [key] },
  accessLog: false,
});
await router.ready;
console.log(JSON.stringify(router.address));
process.on("message", () => {
  globalThis.gc?.();
  process.send?.({ ...wake, rssBytes: process.memoryUsage().rss });
});
process.on("SIGINT", () => process.exit());
