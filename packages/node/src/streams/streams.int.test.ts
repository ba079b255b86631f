import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { LogRequest } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type EmbeddedNode } from "../create-node.ts";
import { pods } from "../resources.ts";
import { cannotRun } from "../testing/runtimes.ts";
import { isGone, isReady, namespace, nodeName, openTestApi, type TestApi } from "../testing/test-api.ts";
import { findTraces, noTraces } from "../testing/traces.ts";

describe.skipIf(cannotRun)("streams of real containers", () => {
  let dataDir: string;
  let api: TestApi;
  let node: EmbeddedNode;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "node-streams-"));
    api = openTestApi();
    node = await createNode({ client: api.client, defaultRuntime: "runc", nodeName, dataDir });
    await node.ready;
  });

  afterAll(async () => {
    await node?.teardown();
    await rm(dataDir, { recursive: true, force: true });
  });

  const create = (name: string, script: string, restartPolicy: "Always" | "OnFailure" | "Never" = "Never") =>
    api.create(name, { restartPolicy, containers: [{ name: "main", image: "host", command: ["sh", "-c", script] }] });
  const log = (pod: string, more: Partial<LogRequest> = {}): Promise<Readable> =>
    node.podStreams.logs({ namespace, pod, follow: false, previous: false, timestamps: false, ...more });
  const remove = async (name: string): Promise<void> => {
    await api.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 1 });
    await api.until(name, isGone);
  };
  /** Creates the file that the test's script waits for. */
  const go = async (pod: string): Promise<void> => {
    const command = ["touch", "/tmp/go"];
    const session = await node.podStreams.exec({ namespace, pod, command, tty: false, stdin: false });
    for (const output of [session.stdout, session.stderr]) output.resume();
    await session.exit;
  };
  const over = (name: string) => api.until(name, (pod) => pod?.status?.phase === "Succeeded");

  test("a log contains all output by stream, with long lines joined", async () => {
    await create("wrote", "echo one; echo two >&2; head -c 20000 /dev/zero | tr '\\0' x; echo; printf 'no end'");
    await over("wrote");
    const long = "x".repeat(20_000);
    const whole = await text(await log("wrote"));
    // The two streams have separate pipes, so the lines of one may come between two parts of a line of the other.
    expect(whole).toHaveLength(`one\ntwo\n${long}\nno end`.length);
    expect(whole).toContain("two\n");
    expect(await text(await log("wrote", { stream: "stdout" }))).toBe(`one\n${long}\nno end`);
    expect(await text(await log("wrote", { stream: "stderr" }))).toBe("two\n");
    expect(await text(await log("wrote", { stream: "stdout", tailLines: 2 }))).toBe(`${long}\nno end`);
    expect(await text(await log("wrote", { limitBytes: 3, stream: "stdout" }))).toBe("one");
    expect(await text(await log("wrote", { timestamps: true, stream: "stderr" }))).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z two\n$/,
    );
    expect(await text(await log("wrote", { sinceMs: Date.now() + 60_000 }))).toBe("");
    await remove("wrote");
  });

  test("following a log ends when the container ends", async () => {
    await create("speaks", "echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; echo ended");
    await api.until("speaks", isReady);
    const following = await log("speaks", { follow: true });
    const said = text(following);
    await go("speaks");
    expect(await said).toBe("begun\nended\n");
    await remove("speaks");
  });

  test("the log of the previous run can be read, and following it ends at once", async () => {
    const script =
      "if [ -e /root/again ]; then echo second; exec sleep 1000; fi; touch /root/again; echo first; exit 3";
    await create("again", script, "OnFailure");
    await api.until("again", (pod) => isReady(pod) && pod?.status?.containerStatuses?.[0]?.restartCount === 1);
    expect(await text(await log("again", { previous: true, follow: true }))).toBe("first\n");
    const following = await log("again", { follow: true });
    expect(String((await once(following, "data"))[0])).toBe("second\n");
    following.destroy();
    await once(following, "close");
    await remove("again");
  });

  test("following continues across log rotation", async () => {
    // More than the monitor keeps in one file.
    const script = "until [ -e /tmp/go ]; do sleep 0.05; done; seq 1 1500000; echo last";
    await create("much", script);
    await api.until("much", isReady);
    const following = await log("much", { follow: true });
    let bytes = 0;
    let end = "";
    const done = (async () => {
      for await (const chunk of following as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        end = (end + chunk.toString()).slice(-100);
      }
    })();
    await go("much");
    await done;
    expect(end.endsWith("1500000\nlast\n")).toBe(true);
    expect(bytes).toBeGreaterThan(1_000_000);
    await remove("much");
  });

  test("attach streams the output from then on, and detaching does not affect the container", async () => {
    await create("attached", "echo before; until [ -e /tmp/go ]; do sleep 0.05; done; echo out; echo err >&2");
    await api.until("attached", isReady);
    const place = { namespace, pod: "attached" };
    // Attach after this line is in the log.
    const log = await node.podStreams.logs({ ...place, follow: true, previous: false, timestamps: false });
    await once(log, "data");
    log.destroy();
    const left = await node.podStreams.attach({ ...place, tty: false, stdin: false });
    left.kill();
    await left.exit;
    const session = await node.podStreams.attach({ ...place, tty: false, stdin: false });
    const said = Promise.all([text(session.stdout), text(session.stderr)]);
    await go("attached");
    expect(await said).toEqual(["out\n", "err\n"]);
    await session.exit;
    await expect(node.podStreams.attach({ ...place, tty: false, stdin: true })).rejects.toMatchObject({
      reason: "BadRequest",
    });
    await remove("attached");
  });

  test("a port on the Pod's loopback is forwarded, several times at once", async () => {
    const server = `exec python3 -c "
import socket, threading
def serve(c):
    c.sendall(b'hello ')
    while True:
        d = c.recv(65536)
        if not d: break
        c.sendall(d)
    c.close()
s = socket.create_server(('127.0.0.1', 8080)); print('up', flush=True)
while True: threading.Thread(target=serve, args=(s.accept()[0],)).start()
"`;
    await create("server", server, "Always");
    await api.until("server", isReady);
    const up = await log("server", { follow: true });
    await once(up, "data");
    up.destroy();
    const dial = (port: number): Promise<Duplex> => node.podStreams.portForward({ namespace, pod: "server", port });
    const echoed = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const socket = await dial(8080);
        socket.end(`number ${index}`);
        return text(socket);
      }),
    );
    expect(echoed).toEqual(Array.from({ length: 20 }, (_, index) => `hello number ${index}`));
    await expect(dial(8081)).rejects.toThrow(
      'Cannot connect to port 8081 of Pod "default/server": connect ECONNREFUSED',
    );
    await expect(node.podStreams.portForward({ namespace, pod: "nobody", port: 1 })).rejects.toMatchObject({
      reason: "NotFound",
    });
    await remove("server");
  });

  test("no processes, mounts or files are left", async () => {
    expect(await findTraces(dataDir)).toEqual(noTraces);
  });
});
