import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { lastActivityAnnotation, type Sandbox, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods } from "./cluster/resources.ts";
import { ask, type ResponseWriter, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
/** The requests that arrived, by path. */
const arrived = new Map<string, number>();
let pod: Served;

beforeAll(async () => {
  pod = await cluster.serve((request, response) => {
    const path = request.url ?? "";
    arrived.set(path, (arrived.get(path) ?? 0) + 1);
    response.end(path);
  });
  router = await cluster.router({ holdMs: 10_000, retries: { firstDelayMs: 5, maxDelayMs: 20 } });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Like the controller, creates a pod as soon as the Sandbox should run. */
function wakeOnWrite(name: string, act: (sandbox: Sandbox) => Promise<void>): { writes: Sandbox[] } {
  const seen: { writes: Sandbox[] } = { writes: [] };
  let isFirst = true;
  cluster.api.onChange((change) => {
    const sandbox = change.object as Sandbox;
    const isWake = sandbox.kind === "Sandbox" && sandbox.metadata.name === name;
    if (!isWake || sandbox.metadata.annotations?.[lastActivityAnnotation] === undefined) return;
    if (sandbox.status?.conditions?.some(({ reason }) => reason === "NotSuspended")) return;
    seen.writes.push(sandbox);
    if (isFirst) void act(sandbox);
    isFirst = false;
  });
  return seen;
}

const awake = {
  conditions: [
    {
      type: "Suspended",
      status: "False",
      reason: "NotSuspended",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:01Z",
    },
  ],
};

async function asleep(name: string, spec: Partial<Sandbox["spec"]> = {}): Promise<Sandbox> {
  const sandbox = await cluster.sandbox(name, { spec: { idlePolicy: { suspendAfterSeconds: 600 }, ...spec } });
  await cluster.suspendIdle(sandbox);
  return sandbox;
}

function many(count: number, name: string): Promise<ResponseWriter[]> {
  const { headers } = toSandbox(name, pod.port);
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const body = index % 2 === 0 ? {} : { method: "POST", body: "x" };
      return ask(router, `/${name}/${index}`, { ...body, headers });
    }),
  );
}

describe("a sleeping sandbox", () => {
  test("is woken once by 200 requests, each of which gets one response", async () => {
    await asleep("sleeper");
    const seen = wakeOnWrite("sleeper", async (sandbox) => {
      await sleep(50);
      await cluster.pod(sandbox, pod.ip, { ready: false });
      await cluster.sandboxStatus(sandbox, awake);
      await cluster.podStatus(sandbox, { ip: pod.ip });
    });
    const answers = await many(200, "sleeper");
    expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200));
    expect(answers.map(({ text }) => text)).toEqual(answers.map((_, index) => `/sleeper/${index}`));
    expect(seen.writes).toHaveLength(1);
    expect(await router.metrics()).toContain('sandbox_router_wakes_total{sandbox_namespace="default"} 1');
    expect([...arrived].filter(([path, count]) => path.startsWith("/sleeper/") && count === 1)).toHaveLength(200);
    expect(cluster.api.read(sandboxes, { namespace: "default", name: "sleeper" })?.spec.operatingMode).toBeUndefined();
  });

  test("is retried until its program listens, which may be after its pod is ready", async () => {
    const ip = TestCluster.nextIp();
    await asleep("late-listener");
    wakeOnWrite("late-listener", async (sandbox) => {
      await cluster.pod(sandbox, ip);
      // Longer than the retries for a sandbox that has been ready for long.
      await sleep(500);
      await cluster.serve((request, response) => response.end(request.url), { ip, port: pod.port });
    });
    const answers = await many(10, "late-listener");
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  });

  test("answers each request once although its pod is replaced while they wait", async () => {
    const dead = TestCluster.nextIp();
    await asleep("mover");
    wakeOnWrite("mover", async (sandbox) => {
      // Ready at an address without a server, then at another one.
      await cluster.pod(sandbox, dead);
      await sleep(20);
      await cluster.removePod("mover");
      await cluster.pod(sandbox, pod.ip, { name: "mover-2" });
    });
    const answers = await many(100, "mover");
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200));
    expect([...arrived].filter(([path, count]) => path.startsWith("/mover/") && count === 1)).toHaveLength(100);
  });

  test("answers each request once although the router is killed while they wait", async () => {
    await asleep("survivor");
    const first = await cluster.router({ shutdownMs: 0 });
    const port = first.address?.port ?? 0;
    let pods = 0;
    wakeOnWrite("survivor", async (sandbox) => {
      pods += 1;
      await first[Symbol.asyncDispose]();
      await cluster.router({ listen: { port } });
      await cluster.pod(sandbox, pod.ip);
    });
    /** Retries until a router answers. */
    const insist = async (path: string): Promise<ResponseWriter> => {
      for (;;) {
        const answer = await ask(first, path, toSandbox("survivor", pod.port)).catch(() => undefined);
        if (answer !== undefined) return answer;
        await sleep(10);
      }
    };
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => insist(`/survivor/${index}`)));
    expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200));
    expect([...arrived].filter(([path, count]) => path.startsWith("/survivor/") && count === 1)).toHaveLength(200);
    expect(pods).toBe(1);
  });

  test("reports to all waiting requests why it does not start", async () => {
    await asleep("broken");
    const seen = wakeOnWrite("broken", async (sandbox) => {
      await cluster.pod(sandbox, "", { ready: false });
      const waiting = { reason: "ImagePullBackOff", message: "no such image" };
      const containerStatuses = [
        { name: "main", state: { waiting }, ready: false, image: "", imageID: "", restartCount: 0 },
      ];
      await cluster.client.patch(
        pods,
        { namespace: "default", name: "broken" },
        { type: "merge", body: { status: { phase: "Pending", containerStatuses } } },
        { subresource: "status" },
      );
    });
    const answers = await many(50, "broken");
    const [first] = answers;
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([first?.status, JSON.parse(first?.text ?? "")]).toEqual([
      503,
      {
        detail: 'Sandbox cannot start: broken: container "main": ImagePullBackOff: no such image',
        reason: "ImageUnavailable",
      },
    ]);
    expect([first?.headers["retry-after"], seen.writes.length]).toEqual(["10", 1]);
    expect([...arrived.keys()].filter((path) => path.startsWith("/broken/"))).toEqual([]);
  });

  test("reports to all waiting requests that the API server refused to wake it", async () => {
    await asleep("locked");
    let writes = 0;
    cluster.api.onRequest = ({ verb, resource }) => {
      if (verb !== "patch" || resource.plural !== "sandboxes") return undefined;
      writes += 1;
      return { refuse: { reason: "Forbidden" } };
    };
    const answers = await many(20, "locked");
    cluster.api.onRequest = undefined;
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set([
        `503 ${JSON.stringify({
          detail: "Sandbox could not be resumed: locked: the API server refused",
          reason: "WakeFailed",
        })}`,
      ]),
    );
    expect([writes, [...arrived.keys()].filter((path) => path.startsWith("/locked/"))]).toEqual([1, []]);
  });

  test("is not woken with resumePolicy Manual", async () => {
    await asleep("manual", { resumePolicy: "Manual" });
    await cluster.sandbox("stopped", { spec: { operatingMode: "Suspended" } });
    for (const name of ["manual", "stopped"]) {
      const { status, text } = await askAgain(name);
      expect([status, JSON.parse(text)]).toEqual([
        409,
        { detail: `Sandbox is suspended and traffic may not resume it: ${name}`, reason: "SandboxSuspended" },
      ]);
      expect(cluster.api.read(sandboxes, { namespace: "default", name })?.metadata.annotations).toBeUndefined();
    }
  });

  test("is set to Running with resumePolicy OnTraffic", async () => {
    const sandbox = await cluster.sandbox("wakeable", {
      spec: { operatingMode: "Suspended", resumePolicy: "OnTraffic" },
    });
    wakeOnWrite("wakeable", () => cluster.pod(sandbox, pod.ip));
    expect((await askAgain("wakeable")).status).toBe(200);
    expect(cluster.api.read(sandboxes, { namespace: "default", name: "wakeable" })?.spec.operatingMode).toBe("Running");
  });

  test("is woken although the first writes fail", async () => {
    const sandbox = await cluster.sandbox("stubborn", {
      spec: { operatingMode: "Suspended", resumePolicy: "OnTraffic" },
    });
    let failures = 2;
    cluster.api.onRequest = ({ verb, name }) =>
      verb === "patch" && name === "stubborn" && (failures -= 1) >= 0 ? { refuse: { reason: "Conflict" } } : undefined;
    wakeOnWrite("stubborn", () => cluster.pod(sandbox, pod.ip));
    expect((await askAgain("stubborn")).status).toBe(200);
    cluster.api.onRequest = undefined;
  });
});

/** The router's watch may not have reported the Sandbox yet. */
async function askAgain(name: string): Promise<ResponseWriter> {
  for (;;) {
    const answer = await ask(router, `/${name}`, toSandbox(name, pod.port));
    if (answer.status !== 404) return answer;
  }
}

describe("a sandbox that is starting", () => {
  test("is waited for until the timeout", async () => {
    const sandbox = await cluster.sandbox("slow");
    await cluster.pod(sandbox, pod.ip, { ready: false });
    const conditions = [
      { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes are available" },
    ];
    await cluster.client.patch(
      pods,
      { namespace: "default", name: "slow" },
      { type: "merge", body: { status: { conditions } } },
      { subresource: "status" },
    );
    const impatient = await cluster.router({ holdMs: 30 });
    const { status, text, headers } = await ask(impatient, "/", toSandbox("slow", pod.port));
    expect([status, JSON.parse(text), headers["retry-after"]]).toEqual([
      503,
      { detail: "Sandbox is not ready in time: slow: 0/1 nodes are available", reason: "Unschedulable" },
      "5",
    ]);
  });

  test("limits the number of waiting requests", async () => {
    const sandbox = await cluster.sandbox("crowded");
    await cluster.pod(sandbox, pod.ip, { ready: false });
    const small = await cluster.router({ holdMs: 1000, waiting: { perSandbox: 2 } });
    const answers = await Promise.all([1, 2, 3].map(() => ask(small, "/", toSandbox("crowded", pod.port))));
    const reasons = answers.map(({ text }) => (JSON.parse(text) as { reason: string }).reason).sort();
    expect(reasons).toEqual(["SandboxStarting", "SandboxStarting", "TooManyWaitingRequests"]);
  });

  test("limits the bytes of waiting requests", async () => {
    await cluster.pod(await cluster.sandbox("heavy"), pod.ip, { ready: false });
    const small = await cluster.router({ holdMs: 1000, waiting: { totalBytes: 100_000 } });
    const { headers } = toSandbox("heavy", pod.port);
    const answers = await Promise.all([1, 2, 3].map(() => ask(small, "/", { method: "POST", headers, body: "x" })));
    const reasons = answers.map(({ text }) => (JSON.parse(text) as { reason: string }).reason).sort();
    expect(reasons).toEqual(["SandboxStarting", "TooManyWaitingRequests", "TooManyWaitingRequests"]);
  });

  test.for([
    ["a WebSocket", "left-a", "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket"],
    ["a tunnel", "left-b", "CONNECT x:80 HTTP/1.1"],
  ] as const)("forgets a caller that wanted %s and is gone", async ([, name, head]) => {
    await cluster.pod(await cluster.sandbox(name), pod.ip, { ready: false });
    const patient = await cluster.router();
    const socket = connect(patient.address?.port ?? 0, patient.address?.host);
    socket.write(`${head}\r\nHost: x\r\nX-Sandbox-ID: ${name}\r\n\r\n`);
    await expect.poll(() => patient.metrics()).toMatch(/sandbox_router_waiting_requests 1/);
    socket.resetAndDestroy();
    await expect.poll(() => patient.metrics()).toMatch(/sandbox_router_waiting_requests 0/);
  });

  test("ends the wait when the client disconnects", async () => {
    const sandbox = await cluster.sandbox("abandoned");
    await cluster.pod(sandbox, pod.ip, { ready: false });
    const signal = AbortSignal.timeout(100);
    await expect(ask(router, "/abandoned", { ...toSandbox("abandoned", pod.port), signal })).rejects.toThrow(/abort/i);
    await expect.poll(() => router.metrics()).toMatch(/sandbox_router_waiting_requests 0/);
    await cluster.podStatus(sandbox, { ip: pod.ip });
    expect((await askAgain("abandoned")).status).toBe(200);
    expect(arrived.get("/abandoned")).toBe(1);
  });
});

describe("a claim", () => {
  test("routes to its Sandbox as soon as it has one", async () => {
    const claim = await cluster.client.create(sandboxClaims, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { name: "my-claim", namespace: "default" },
      spec: { warmPoolRef: { name: "pool" } },
    });
    const owner = {
      apiVersion: claim.apiVersion,
      kind: claim.kind,
      name: "my-claim",
      uid: claim.metadata.uid ?? "",
      controller: true,
    };
    const waiting = askAgain("my-claim");
    const sandbox = await cluster.sandbox("pool-x7k2p", { metadata: { ownerReferences: [owner] } });
    await cluster.pod(sandbox, pod.ip);
    const status = { sandbox: { name: "pool-x7k2p" } };
    await cluster.client.patch(
      sandboxClaims,
      { namespace: "default", name: "my-claim" },
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
    expect((await waiting).status).toBe(200);
  });

  test("does not route to a Sandbox that it does not hold", async () => {
    const claim = await cluster.client.create(sandboxClaims, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { name: "thief", namespace: "default" },
      spec: { warmPoolRef: { name: "pool" } },
    });
    await cluster.client.patch(
      sandboxClaims,
      { namespace: "default", name: "thief" },
      { type: "merge", body: { status: { sandbox: { name: "sleeper" } } } },
      { subresource: "status" },
    );
    const impatient = await cluster.router({ holdMs: 30 });
    const { status } = await ask(impatient, "/thief", toSandbox("thief", pod.port));
    expect([claim.metadata.name, status, arrived.get("/thief")]).toEqual(["thief", 503, undefined]);
  });

  test("makes a pool member reachable by name", async () => {
    const sandbox = await cluster.sandbox("member", {
      metadata: { labels: { "agents.x-k8s.io/warm-pool-sandbox": "hash" } },
    });
    await cluster.pod(sandbox, pod.ip);
    const late = await cluster.router();
    const byName = await ask(late, "/", toSandbox("member", pod.port));
    const byUid = await ask(late, "/", toSandbox("member", pod.port, { "X-Sandbox-UID": sandbox.metadata.uid ?? "" }));
    expect([byName.status, byUid.status]).toEqual([404, 200]);
  });
});
