import type { Container } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode } from "../../src/create-node.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady, nodeName } from "../../src/testing/test-api.ts";
import { isOver, openTestBox, slug, soon, statusOf, type TestBox } from "../../src/testing/test-box.ts";

type Probe = NonNullable<Container["readinessProbe"]>;

const idle = 'trap "exit 0" TERM; sleep 1000 & wait';
const often = { periodSeconds: 1, timeoutSeconds: 2 };
const exec = (script: string): Probe => ({ ...often, exec: { command: ["sh", "-c", script] } });

/** A startup probe that waits until the program listens. */
const listens = (port: number): Probe => ({ ...often, tcpSocket: { port }, failureThreshold: 60 });

/** Listens on 8080, and answers /ok with 200, /gone with 503, /moved with a redirect to /ok. */
const server = `
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        code = 302 if self.path == "/moved" else 200 if self.path == "/ok" and self.headers.get("X-Probe", "yes") == "yes" else 503
        self.send_response(code)
        if code == 302: self.send_header("Location", "/ok")
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Handler).serve_forever()
`;
/** Implements enough HTTP/2 for a gRPC health check: SERVING, or NOT_SERVING for the service "ill". */
const grpcServer = `
import socket, struct
def frame(kind, flags, stream, payload): return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
def header(name, value): return bytes([0x00, len(name)]) + name + bytes([len(value)]) + value
s = socket.create_server(("0.0.0.0", 9000))
while True:
    c, _ = s.accept()
    try:
        data = b""
        while True:
            chunk = c.recv(65536)
            if not chunk: break
            data += chunk
            if b"PRI * HTTP/2.0" in data and b"\\x00\\x00\\x00\\x00" in data and len(data) > 120: break
        c.sendall(frame(4, 0, 0, b"") + frame(4, 1, 0, b""))
        status = 2 if b"ill" in data else 1
        c.sendall(frame(1, 4, 1, bytes([0x88]) + header(b"content-type", b"application/grpc")))
        c.sendall(frame(0, 0, 1, b"\\x00\\x00\\x00\\x00\\x02\\x08" + bytes([status])))
        c.sendall(frame(1, 5, 1, header(b"grpc-status", b"0")))
        c.recv(1024)
    except OSError: pass
    c.close()
`;

describe.skipIf(cannotRun).each(testedRuntimes)("probes with %s", (runtimeClassName) => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox({ backoff: { firstMs: 200, longestMs: 400, forgetAfterMs: 600_000 } });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const start = (name: string, main: Partial<Container>, restartPolicy = "Always"): Promise<void> => {
    const container: Container = { name: "main", image: "host", command: ["sh", "-c", idle], ...main };
    const spec = { runtimeClassName, restartPolicy, terminationGracePeriodSeconds: 1, containers: [container] };
    return box.create(name, { spec });
  };
  const running = (name: string): Promise<unknown> =>
    box.api.until(name, (pod) => statusOf(pod)?.state?.running !== undefined);

  test("a readiness probe makes a container ready and unready", async () => {
    await start("ready", { readinessProbe: { ...exec("test -e /tmp/up"), failureThreshold: 1 } });
    await running("ready");
    const before = box.api.read("ready");
    expect([statusOf(before)?.ready, statusOf(before)?.started, isReady(before)]).toEqual([false, true, false]);
    await box.shell("ready", "touch /tmp/up");
    await box.api.until("ready", isReady);
    await box.shell("ready", "rm /tmp/up");
    const after = await box.api.until("ready", (pod) => !isReady(pod));
    expect([statusOf(after)?.restartCount, after.status?.phase]).toEqual([0, "Running"]);
    await expect.poll(() => box.events("ready").join("\n"), soon).toContain("Unhealthy: Readiness probe failed: ");
    await box.remove("ready");
  });

  test("readiness needs successThreshold successes", async () => {
    const counting = "n=$(cat /tmp/n 2>/dev/null || echo 0); echo $((n+1)) > /tmp/n";
    await start("thrice", { readinessProbe: { ...exec(counting), successThreshold: 3 } });
    await box.api.until("thrice", isReady);
    expect(Number(await box.shell("thrice", "cat /tmp/n"))).toBeGreaterThanOrEqual(3);
    await box.remove("thrice");
  });

  test("a container is restarted when its liveness probe fails", async () => {
    await start("ill", { livenessProbe: { ...exec("test ! -e /tmp/ill"), failureThreshold: 1 } });
    await box.api.until("ill", isReady);
    await box.shell("ill", "touch /tmp/ill");
    const pod = await box.api.until("ill", (one) => statusOf(one)?.restartCount === 1);
    expect(statusOf(pod)?.lastState?.terminated).toBeDefined();
    const events = (): string => box.events("ill").join("\n");
    await expect.poll(events, soon).toContain("Unhealthy: Liveness probe failed: ");
    await expect.poll(events, soon).toContain("Killing: Container main failed liveness probe, will be restarted");
    await box.remove("ill", 0);
  });

  test("after a failed liveness probe OnFailure restarts a container with exit code 0, Never does not", async () => {
    const livenessProbe = { ...exec("false"), failureThreshold: 1 };
    await Promise.all([start("onfailure", { livenessProbe }, "OnFailure"), start("never", { livenessProbe }, "Never")]);
    await box.api.until("onfailure", (pod) => (statusOf(pod)?.restartCount ?? 0) >= 1);
    const pod = await box.api.until("never", isOver);
    expect(statusOf(pod)?.restartCount).toBe(0);
    await Promise.all([box.remove("onfailure", 0), box.remove("never")]);
  });

  test("a startup probe delays the others and restarts a container that does not start", async () => {
    const startupProbe = { ...exec("test -e /tmp/up"), failureThreshold: 30 };
    const livenessProbe = { ...exec("test ! -e /tmp/up || exit 0; exit 1"), failureThreshold: 1 };
    await start("slow", { startupProbe, livenessProbe });
    await running("slow");
    expect([statusOf(box.api.read("slow"))?.started, isReady(box.api.read("slow"))]).toEqual([false, false]);
    await box.shell("slow", "touch /tmp/up");
    const pod = await box.api.until("slow", isReady);
    expect([statusOf(pod)?.started, statusOf(pod)?.restartCount]).toEqual([true, 0]);
    await start("stillborn", { startupProbe: { ...exec("echo not yet; false"), failureThreshold: 2 } });
    await box.api.until("stillborn", (one) => (statusOf(one)?.restartCount ?? 0) >= 1);
    await expect
      .poll(() => box.events("stillborn").join("\n"), soon)
      .toContain("Killing: Container main failed startup probe, will be restarted");
    await expect
      .poll(() => box.events("stillborn").join("\n"), soon)
      .toContain("Unhealthy: Startup probe failed: not yet");
    await Promise.all([box.remove("slow"), box.remove("stillborn", 0)]);
  });

  test("a probe command that times out fails and is killed", async () => {
    const readinessProbe = { exec: { command: ["sleep", "7777"] }, periodSeconds: 1, timeoutSeconds: 1 };
    await start("lazy", { readinessProbe });
    await expect
      .poll(() => box.events("lazy").join("\n"), soon)
      .toContain("Unhealthy: Readiness probe failed: no answer within 1s");
    await expect.poll(() => box.shell("lazy", "ps ax | grep -c '[s]leep 7777'"), soon).toMatch(/^[01]$/);
    await box.remove("lazy");
  });

  test.concurrent.for([
    ["http", { httpGet: { port: 8080, path: "/ok" } }],
    ["http by port name, with a redirect", { httpGet: { port: "web", path: "/moved" } }],
    ["http with headers", { httpGet: { port: 8080, path: "/ok", httpHeaders: [{ name: "X-Probe", value: "yes" }] } }],
    ["tcp", { tcpSocket: { port: 8080 } }],
  ] as const)("probes by %s", async ([what, handler], { expect }) => {
    const name = `net-${slug(what)}`;
    const readinessProbe = { ...often, ...(handler as Probe) };
    await start(name, {
      command: ["python3", "-c", server],
      ports: [{ name: "web", containerPort: 8080 }],
      readinessProbe,
    });
    const pod = await box.api.until(name, isReady);
    expect(statusOf(pod)?.ready).toBe(true);
    await box.remove(name, 0);
  });

  test.concurrent.for([
    [
      "a response with status 503",
      { httpGet: { port: 8080, path: "/gone" } },
      "HTTP probe failed with statuscode: 503",
    ],
    [
      "wrong headers",
      { httpGet: { port: 8080, path: "/ok", httpHeaders: [{ name: "x-probe", value: "no" }] } },
      "HTTP probe failed with statuscode: 503",
    ],
    ["a closed port", { tcpSocket: { port: 8081 } }, "connect ECONNREFUSED"],
  ] as const)("fails for %s", async ([what, handler, message], { expect }) => {
    const name = `bad-${slug(what)}`;
    const readinessProbe = { ...often, ...(handler as Probe) };
    await start(name, { command: ["python3", "-c", server], startupProbe: listens(8080), readinessProbe });
    await expect.poll(() => box.events(name).join("\n"), soon).toContain(`Readiness probe failed: ${message}`);
    expect(isReady(box.api.read(name))).toBe(false);
    await box.remove(name, 0);
  });

  test("probes by gRPC", async () => {
    const probe = (service?: string): Probe => ({ ...often, grpc: { port: 9000, ...(service && { service }) } });
    const command = ["python3", "-c", grpcServer];
    await Promise.all([
      start("grpc", { command, readinessProbe: probe() }),
      start("grpc-ill", { command, startupProbe: listens(9000), readinessProbe: probe("ill") }),
    ]);
    await box.api.until("grpc", isReady);
    await expect
      .poll(() => box.events("grpc-ill").join("\n"), soon)
      .toContain('Readiness probe failed: service unhealthy (responded with "NOT_SERVING")');
    expect(isReady(box.api.read("grpc-ill"))).toBe(false);
    await Promise.all([box.remove("grpc", 0), box.remove("grpc-ill", 0)]);
  });

  test("a sidecar's startup probe delays the main containers", async () => {
    const side: Container = {
      name: "side",
      image: "host",
      command: ["sh", "-c", idle],
      restartPolicy: "Always",
      startupProbe: { ...exec("test -e /tmp/up"), failureThreshold: 60 },
    };
    const main: Container = { name: "main", image: "host", command: ["sh", "-c", idle] };
    await box.create("gate", { spec: { runtimeClassName, initContainers: [side], containers: [main] } });
    const before = await box.api.until("gate", (pod) => statusOf(pod, "side")?.state?.running !== undefined);
    expect(statusOf(before)?.state?.waiting?.reason).toBe("PodInitializing");
    await box.shell("gate", "touch /tmp/up", "side");
    await box.api.until("gate", isReady);
    await box.remove("gate");
  });

  test("a container stays ready when the node restarts", async () => {
    const readinessProbe = { exec: { command: ["true"] }, periodSeconds: 600 };
    await start("steady", { readinessProbe, startupProbe: { ...exec("true") } });
    await box.api.until("steady", isReady);
    await box.node.stop();
    const readiness: boolean[] = [];
    box.api.server.onChange(() => readiness.push(isReady(box.api.read("steady"))));
    await using node = await createNode({
      client: box.api.client,
      nodeName,
      dataDir: box.dataDir,
      allowedRuntimes: ["runc"],
    });
    await node.ready;
    await box.create("after", { spec: { runtimeClassName } });
    await box.api.until("after", isReady);
    expect(readiness.every(Boolean)).toBe(true);
  });
});
