import { once } from "node:events";
import { get, request } from "node:http";
import { connect } from "node:net";
import { lastActivityAnnotation, sandboxes } from "@agent-sandbox/api";
import type { Logger, TransportRequest } from "@agent-sandbox/kube";
import { afterAll, beforeAll, expect, test } from "vitest";
import { secrets } from "./cluster/resources.ts";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { BoundAddress, Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let pod: Served;
const logged: Record<string, unknown>[] = [];
const log: Logger = {
  debug: () => undefined,
  info: (fields, message) => void logged.push({ message, ...fields }),
  warn: () => undefined,
  error: () => undefined,
};

beforeAll(async () => {
  pod = await cluster.serve((_, response) => response.writeHead(201).end("hello"));
  await cluster.pod(await cluster.sandbox("box", { spec: { idlePolicy: { suspendAfterSeconds: 600 } } }), pod.ip);
  router = await cluster.router({ log, metrics: { port: 0 }, probes: { port: 0 } });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const read = async (address: BoundAddress | undefined, path: string): Promise<[number, string]> => {
  const [answer] = (await once(get({ ...address, path }), "response")) as [import("node:http").IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return [answer.statusCode ?? 0, Buffer.concat(chunks).toString()];
};

test("tells the log about each request once, without its query", async () => {
  await ask(router, "/path?token=secret", {
    ...toSandbox("box", pod.port),
    headers: { ...toSandbox("box", pod.port).headers, "X-Request-ID": "r-7", "User-Agent": "test" },
  });
  await expect.poll(() => logged.some(({ request_id }) => request_id === "r-7")).toBe(true);
  const line = logged.find(({ request_id }) => request_id === "r-7");
  expect(line).toMatchObject({
    message: "request",
    method: "GET",
    path: "/path",
    status: 201,
    client_ip: "127.0.0.1",
    sandbox_id: "box",
    sandbox_namespace: "default",
    bytes_out: 5,
    user_agent: "test",
  });
  expect(JSON.stringify(logged)).not.toContain("secret");
});

test("counts under labels that callers cannot choose", async () => {
  await ask(router, "/", { headers: { "X-Sandbox-ID": "x", "X-Sandbox-Namespace": "made-up" } });
  await ask(router, "/", { method: "PROPFIND", ...toSandbox("box", pod.port) });
  const [status, text] = await read(router.metricsAddress, "/metrics");
  expect(status).toBe(200);
  expect(text).not.toContain("made-up");
  expect(text).toContain('sandbox_router_requests_total{method="other",code="201",sandbox_namespace="default"} 1');
  expect(text).toContain('sandbox_router_requests_total{method="GET",code="404",sandbox_namespace="-"} 1');
  for (const name of [
    "request_duration_seconds_bucket",
    "inflight_requests",
    "authz_decisions_total",
    "cert_reloads_total",
    "build_info",
  ]) {
    expect(text).toContain(`sandbox_router_${name}`);
  }
});

test("is ready once it knows the sandboxes, and says when it no longer takes requests", async () => {
  expect(await read(router.probesAddress, "/healthz")).toEqual([200, '{"status":"ok"}']);
  expect(await read(router.probesAddress, "/readyz")).toEqual([200, "ok"]);
  const { startRouter } = await import("./start-router.ts");
  const { createClient } = await import("@agent-sandbox/kube");
  const never = ({ signal }: TransportRequest): Promise<never> =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  const deaf = { send: never, stream: never, close: () => Promise.resolve() };
  await using blind = await startRouter({
    client: createClient(deaf),
    listen: { port: 0 },
    probes: { port: 0 },
    auth: { anonymous: true },
    shutdownMs: 10,
  });
  expect(await read(blind.probesAddress, "/readyz")).toEqual([503, "draining"]);
  const { status, text } = await ask(blind, "/", toSandbox("box", pod.port));
  expect([status, (JSON.parse(text) as { reason: string }).reason]).toEqual([503, "NotSynced"]);
});

test("finishes what is under way when it stops, and takes nothing new", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = await cluster.serve((_, response) => void promise.then(() => response.end("done")), { ip: pod.ip });
  const leaving = await cluster.router({ shutdownMs: 5000 });
  const { host, port } = leaving.address ?? {};
  const asked = request({ host, port, agent: false, ...toSandbox("box", slow.port) }).end();
  const answered = once(asked, "response") as Promise<[import("node:http").IncomingMessage]>;
  await expect.poll(() => leaving.metrics()).toMatch(/inflight_requests 1/);
  const stopping = leaving[Symbol.asyncDispose]();
  const late = connect(port ?? 0, host);
  const [error] = (await once(late, "error")) as [NodeJS.ErrnoException];
  resolve();
  const [answer] = await answered;
  answer.resume();
  await stopping;
  expect([error.code, answer.statusCode]).toEqual(["ECONNREFUSED", 200]);
});

test("writes activity down, and once", async () => {
  await Promise.all(Array.from({ length: 20 }, () => ask(router, "/", toSandbox("box", pod.port))));
  const written = () =>
    cluster.api.read(sandboxes, { namespace: "default", name: "box" })?.metadata.annotations?.[lastActivityAnnotation];
  await expect.poll(written).toMatch(/^\d{4}-.*Z$/);
  expect(cluster.api.writes.get("patch sandboxes")).toBe(1);
});

test("asks the runtime of a sandbox that is about to count as idle, and keeps it awake while that is busy", async () => {
  let asked = 0;
  const runtime = await cluster.serve(
    (seen, response) => {
      asked += seen.url === "/v1/activity" && seen.headers["x-sandbox-token"] === "runtime-token" ? 1 : 0;
      response.end(JSON.stringify({ busy: true, running_processes: 1 }));
    },
    { port: 8080 },
  );
  const sandbox = await cluster.sandbox("worker", {
    spec: { runtime: "Injected", idlePolicy: { suspendAfterSeconds: 600 } },
  });
  const owner = {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    name: "worker",
    uid: sandbox.metadata.uid ?? "",
    controller: true,
  };
  await cluster.client.create(secrets, {
    metadata: { name: "worker-runtime", namespace: "default", ownerReferences: [owner] },
    data: { token: Buffer.from("runtime-token").toString("base64") },
  });
  await cluster.pod(sandbox, runtime.ip);
  // Ready for longer than three quarters of its window.
  const ready = {
    type: "Ready",
    status: "True",
    reason: "DependenciesReady",
    message: "",
    lastTransitionTime: new Date(Date.now() - 500_000).toISOString(),
  };
  await cluster.sandboxStatus(sandbox, { conditions: [ready] });
  const written = () =>
    cluster.api.read(sandboxes, { namespace: "default", name: "worker" })?.metadata.annotations?.[
      lastActivityAnnotation
    ];
  await expect.poll(written, { timeout: 5000 }).toMatch(/Z$/);
  expect(asked).toBe(1);
});
