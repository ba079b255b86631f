import { once } from "node:events";
import { ask, jsonOf, open } from "../ask.ts";
import type { Rows } from "../checklist.ts";
import { codes, GrpcChannel } from "../grpc-channel.ts";
import { countsOf, ports } from "../subject.ts";
import { routerWith } from "../world.ts";

const metricNames = [
  "requests_total",
  "request_duration_seconds",
  "inflight_requests",
  "upstream_errors_total",
  "upstream_retries_total",
  "cache_invalidations_total",
  "authz_decisions_total",
  "cert_reloads_total",
  "build_info",
];

/** Opens its port when a file exists. It is loaded before: on a busy machine that takes longer than the router retries. */
const lateServer = `
import http.server, os, time
open("/var/tmp/loaded", "w").close()
while not os.path.exists("/var/tmp/open-port"): time.sleep(0.01)
http.server.HTTPServer(("", 8123), http.server.SimpleHTTPRequestHandler).serve_forever()
`;

export const errors: Rows<"errors"> = {
  "a closed port is reported": async ({ expect, subject }) => {
    const answer = await subject.ask(1, "/");
    expect([answer.status, jsonOf(answer)]).toEqual([
      502,
      { detail: `Could not connect to the backend sandbox: ${subject.name}`, reason: "Refused" },
    ]);
  },

  "a port that opens a moment later is retried": async ({ expect, subject }) => {
    using channel = await subject.processes();
    const server = channel.start({ command: ["python3", "-c", lateServer], cwd: "" });
    await subject.shell("until test -e /var/tmp/loaded; do sleep 0.05; done");
    const asked = subject.ask(8123, "/");
    await subject.shell("touch /var/tmp/open-port");
    expect((await asked).status).toBe(200);
    server.cancel();
  },

  "a request that was sent is never sent again": async ({ expect, subject }) => {
    const before = (await countsOf(subject)).counts.filter((each) => each === "silent").length;
    for (const method of ["GET", "POST"]) {
      const answer = await subject.ask(ports.workload, "/silent", { method });
      expect([answer.status, jsonOf<{ reason: string }>(answer).reason]).toEqual([502, "BadUpstream"]);
    }
    expect((await countsOf(subject)).counts.filter((each) => each === "silent").length).toBe(before + 2);
  },

  "an aborted response does not look complete": async ({ expect, subject }) => {
    await expect(subject.ask(ports.workload, "/broken")).rejects.toThrow("aborted");
  },

  "the client's own timeout applies": async ({ expect, subject }) => {
    const answer = await subject.ask(ports.workload, "/never", { headers: { "x-sandbox-timeout": "0.3" } });
    expect([answer.status, jsonOf(answer)]).toEqual([
      504,
      { detail: `Timed out waiting for the backend sandbox: ${subject.name}`, reason: "Timeout" },
    ]);
    for (const nonsense of ["soon", "0", "-1", "inf", "NaN", ""]) {
      const { status } = await subject.ask(ports.workload, "/", { headers: { "x-sandbox-timeout": nonsense } });
      expect([nonsense, status]).toEqual([nonsense, 200]);
    }
  },

  "too large bodies and heads and too many requests are refused": async (world) => {
    const { expect } = world;
    await using strict = await routerWith(world, { maxBodyBytes: 1000, limits: { perCaller: 1 } });
    const { subject } = strict;
    for (const headers of [{}, { "transfer-encoding": "chunked" }]) {
      const large = await subject.ask(ports.workload, "/", { method: "POST", body: "x".repeat(1001), headers });
      expect([large.status, jsonOf<{ reason: string }>(large).reason]).toEqual([413, "BodyTooLarge"]);
    }
    const head = await subject.ask(ports.workload, "/", { headers: { "x-long": "x".repeat(70_000) } });
    expect([head.status, head.headers["x-sandbox-reason"]]).toEqual([431, "HeadersTooLarge"]);
    const holding = await open(subject.router, "/events", { headers: subject.headers(ports.workload) });
    await once(holding, "data");
    const second = await subject.ask(ports.workload, "/");
    expect([second.status, second.headers["retry-after"], second.headers["x-sandbox-reason"]]).toEqual([
      429,
      "1",
      "CallerLimit",
    ]);
    holding.destroy();
    await world.subject.ask(ports.workload, "/release");
  },

  "gRPC calls get gRPC errors": async ({ expect, subject }) => {
    const call = async (headers: Record<string, string>): Promise<number> => {
      using channel = await GrpcChannel.open(subject.router, headers);
      return (await channel.execute({ command: ["true"] })).code;
    };
    const good = subject.headers(ports.grpc);
    expect(await call({ ...good, "X-Sandbox-ID": "no-such" })).toBe(codes.notFound);
    expect(await call({ ...good, "X-Sandbox-ID": "NO" })).toBe(codes.invalidArgument);
    expect(await call({ ...good, "X-Sandbox-Port": "1" })).toBe(codes.unavailable);
    expect(await call({ ...good, Authorization: "Bearer forged" })).toBe(codes.unauthenticated);
    expect(await call(good)).toBe(codes.ok);
  },

  "the router and the sandbox have separate health checks": async ({ expect, subject }) => {
    const own = await ask(subject.router, "/healthz");
    expect([own.status, own.text]).toEqual([200, '{"status":"ok"}']);
    expect((await subject.arrived("/healthz")).target).toBe("/healthz");
  },

  "readiness fails while the router drains": async (world) => {
    const { expect } = world;
    const handle = await routerWith(world, { probes: { port: 0 }, shutdownMs: 10_000 });
    const probes = handle.router.probesAddress ?? { host: "", port: 0 };
    const probe = async (path: string): Promise<[number, string]> => {
      const { status, text } = await ask(probes, path);
      return [status, text];
    };
    expect(await probe("/healthz")).toEqual([200, '{"status":"ok"}']);
    expect(await probe("/readyz")).toEqual([200, "ok"]);
    // A request in progress delays the end.
    const response = await open(handle.address, "/events", { headers: world.subject.headers(ports.workload) });
    const ended = once(response, "end");
    await once(response, "data");
    const stopped = handle[Symbol.asyncDispose]();
    expect(await probe("/readyz")).toEqual([503, "draining"]);
    expect(await probe("/healthz")).toEqual([200, '{"status":"ok"}']);
    await world.subject.ask(ports.workload, "/release");
    await Promise.all([ended, stopped]);
  },

  "metrics have the established names": async (world) => {
    const { expect } = world;
    await using observed = await routerWith(world, { metrics: { port: 0 } });
    await observed.subject.ask(ports.workload, "/");
    const { text } = await ask(observed.router.metricsAddress ?? { host: "", port: 0 }, "/metrics");
    for (const name of metricNames) expect(text).toContain(`# TYPE sandbox_router_${name} `);
    expect(text).toContain('sandbox_router_requests_total{method="GET",code="200",sandbox_namespace="default"} 1');
    expect(text).toContain('sandbox_router_authz_decisions_total{sandbox_namespace="default",decision="allow"} 1');
  },

  "the access log has the established fields": async ({ expect, subject, box }) => {
    const id = `logged-${subject.name}`;
    await subject.ask(ports.workload, "/readyz?secret=1", { headers: { "x-request-id": id, "user-agent": "tester" } });
    const line = (): unknown => {
      const found = box
        .log()
        .split("\n")
        .find((each) => each.includes(`"${id}"`));
      return found === undefined ? undefined : JSON.parse(found);
    };
    await expect.poll(line).toMatchObject({
      msg: "request",
      logger: "sandbox-router.access",
      method: "GET",
      path: "/readyz",
      status: 200,
      duration_ms: expect.any(Number),
      client_ip: "127.0.0.1",
      sandbox_id: subject.name,
      sandbox_namespace: "default",
      bytes_out: expect.any(Number),
      user_agent: "tester",
    });
  },
};
