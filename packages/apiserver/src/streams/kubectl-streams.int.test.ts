import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { KubeConfig, Log, PortForward } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, createApiServer, type Listening } from "../index.ts";
import { FakePodStreams } from "./fake-pod-streams.test.support.ts";

const kubectlPath = "/usr/bin/kubectl";
const available = existsSync(kubectlPath);
if (!available) console.warn(`skipped: ${kubectlPath} is not installed`);

let folder: string;
let server: ApiServer;
let listening: Listening;
const podStreams = new FakePodStreams();
const kubeconfig = (): string => join(folder, "kubeconfig");

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-streams-"));
  server = await createApiServer({ nodeName: "box", podStreams });
  listening = await server.listen();
  listening.writeKubeconfig(kubeconfig());
  const path = "/api/v1/namespaces/default/pods";
  const body = { metadata: { name: "p" }, spec: { containers: [{ name: "main", image: "busybox" }] } };
  await server.transport.send({ method: "POST", path, body });
  const main = { name: "main", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
  const headers = { "content-type": "application/merge-patch+json" };
  const status = { phase: "Running", containerStatuses: [main] };
  await server.transport.send({ method: "PATCH", path: `${path}/p/status`, headers, body: { status } });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

describe.skipIf(!available).each([
  { wire: "WebSocket", webSockets: "true" },
  { wire: "SPDY", webSockets: "false" },
])("kubectl over $wire", ({ webSockets }) => {
  const env = (): NodeJS.ProcessEnv => ({
    ...process.env,
    KUBECONFIG: kubeconfig(),
    KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets,
    KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets,
  });
  const kubectl = (args: string[], input: string | Buffer = ""): Promise<{ code: number; out: Buffer; err: string }> =>
    new Promise((resolve) => {
      const options = { env: env(), encoding: "buffer" as const, maxBuffer: 64 * 1024 * 1024, timeout: 50_000 };
      const child = execFile(kubectlPath, args, options, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err: err.toString() });
      });
      child.stdin?.end(input);
    });

  test("exec separates outputs and returns the exit code", async () => {
    const both = await kubectl(["exec", "p", "--", "both"]);
    expect([both.code, both.out.toString(), both.err]).toEqual([0, "to stdout\n", "to stderr\n"]);
    expect((await kubectl(["exec", "p", "--", "fail", "42"])).code).toBe(42);
  });

  test("exec transfers 10 MiB in both directions unchanged", async () => {
    const input = randomBytes(10 * 1024 * 1024);
    const { code, out } = await kubectl(["exec", "-i", "p", "--", "cat"], input);
    const sum = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
    expect([code, out.length, sum(out)]).toEqual([0, input.length, sum(input)]);
  });

  test("disconnecting ends a command", async () => {
    const child = spawn(kubectlPath, ["exec", "-i", "p", "--", "wait"], {
      env: env(),
      stdio: ["pipe", "ignore", "ignore"],
    });
    const before = podStreams.sessions.length;
    while (podStreams.sessions.length === before) await new Promise(setImmediate);
    child.kill("SIGKILL");
    expect(await podStreams.sessions.at(-1)?.exit).toMatchObject({ signal: "SIGKILL" });
  });

  test("attach follows until the container ends", async () => {
    const before = podStreams.sessions.length;
    const answer = kubectl(["attach", "p"]);
    while (podStreams.sessions.length === before) await new Promise(setImmediate);
    podStreams.sessions.at(-1)?.stdout.write("from the container\n");
    podStreams.sessions.at(-1)?.finish(3);
    const { code, out } = await answer;
    expect([code, out.toString()]).toEqual([0, "from the container\n"]);
  });

  const forwarding = async (port: number): Promise<{ child: ChildProcess; local: number }> => {
    const child = spawn(kubectlPath, ["port-forward", "pod/p", `:${port}`, "--address=127.0.0.1"], {
      env: env(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    return { child, local: Number(/127\.0\.0\.1:(\d+)/.exec(line)?.[1]) };
  };

  test("port-forward handles many independent connections", async () => {
    const { child, local } = await forwarding(80);
    const large = "x".repeat(300_000);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const socket = connect({ host: "127.0.0.1", port: local, allowHalfOpen: true });
        socket.end(`${index} ${large}`);
        return text(socket);
      }),
    );
    expect(answers).toEqual(Array.from({ length: 10 }, (_, index) => `hello ${index} ${large}`));
    child.kill();
    await once(child, "exit");
  });

  test("port-forward reports why a port cannot be reached", async () => {
    const { child, local } = await forwarding(81);
    const said = text(child.stderr as NodeJS.ReadableStream);
    await text(connect(local, "127.0.0.1"));
    child.kill();
    expect(await said).toContain("error forwarding port 81: connection refused");
  });
});

test("accepts SPDY over WebSocket, which kubectl uses for port-forward", async () => {
  const { url, authority, token } = listening;
  const asking = request(`${url}/api/v1/namespaces/default/pods/p/portforward`, {
    ca: authority,
    headers: {
      authorization: `Bearer ${token}`,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": randomBytes(16).toString("base64"),
      "sec-websocket-protocol": "SPDY/3.1+portforward.k8s.io",
    },
  }).end();
  const [response, socket] = (await once(asking, "upgrade")) as [IncomingMessage, Socket];
  expect(response.headers["sec-websocket-protocol"]).toBe("SPDY/3.1+portforward.k8s.io");
  socket.destroy();
});

describe("the official JavaScript client", () => {
  const config = (): KubeConfig => {
    const loaded = new KubeConfig();
    loaded.loadFromFile(kubeconfig());
    return loaded;
  };

  test("follows a log", async () => {
    const out = new PassThrough();
    await new Log(config()).log("default", "p", "main", out, { follow: true, tailLines: 5 });
    const [line] = (await once(out, "data")) as [Buffer];
    expect(JSON.parse(line.toString())).toMatchObject({ follow: true, tailLines: 5 });
    podStreams.followed?.end("the end\n");
    expect(await text(out)).toBe("the end\n");
  });

  test("forwards a port", async () => {
    const [out, err, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
    await new PortForward(config(), true).portForward("default", "p", [80], out, err, input);
    input.write("there");
    let said = "";
    while (!said.includes("there")) said += String((await once(out, "data"))[0]);
    expect(said).toBe("hello there");
    input.end();
  });
});
