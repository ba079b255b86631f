import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Probe } from "./probe-state.ts";
import { runProbe } from "./run-probe.ts";

/** The Pod is at 127.0.0.2. A request that reaches 127.0.0.3 has left the Pod. */
const podAddress = "127.0.0.2";
const otherAddress = "127.0.0.3";
let port: number;
const atPod: string[] = [];
const atOther: string[] = [];
const stack = new AsyncDisposableStack();

function answerAs(list: string[]): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://x");
    list.push(`${request.headers.host} ${request.url}`);
    if (pathname === "/away") response.writeHead(302, { location: `http://${otherAddress}:${port}/stolen` }).end();
    else if (pathname === "/strange") response.writeHead(302, { location: `file:///etc/passwd` }).end();
    else if (pathname === "/round") response.writeHead(302, { location: "/round" }).end();
    else if (pathname === "/heads") response.writeHead(200, { "x-long": "x".repeat(20_000) }).end();
    else if (pathname === "/flood") {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    } else response.end("fine");
  };
}

async function serve(list: string[], address: string, at: number): Promise<number> {
  const server = createServer(answerAs(list)).listen(at, address);
  await once(server, "listening");
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  port = await serve(atPod, podAddress, 0);
  await serve(atOther, otherAddress, port);
});
afterAll(() => stack.disposeAsync());

const dialled: number[] = [];
const dial = async (to: number): Promise<Duplex> => {
  dialled.push(to);
  const socket = connect({ host: podAddress, port: to });
  await once(socket, "connect");
  return socket;
};

const run = (probe: Probe): Promise<string | undefined> => {
  const container = { name: "main", image: "host" };
  const target = { container, address: podAddress, dial, run: () => Promise.reject(new Error("no commands")) };
  return runProbe(probe, target, AbortSignal.timeout(5000));
};

const http = (given: object): Promise<string | undefined> => run({ httpGet: { port, ...given } });

describe("a probe connects to its own Pod", () => {
  test.for([
    ["without a host", {}],
    ["by the Pod's address", { host: podAddress }],
    ["with its own Host header", { httpHeaders: [{ name: "Host", value: "example.com" }] }],
    ["with a path that looks like a host", { path: `//${otherAddress}/x` }],
    ["with a path that looks like a URL", { path: `http://${otherAddress}/x` }],
    ["with a path that looks like userinfo", { path: `@${otherAddress}/x` }],
    ["redirected to another host", { path: "/away" }],
    ["redirected to a file", { path: "/strange" }],
    ["redirected in a circle", { path: "/round" }],
    ["with an endless response", { path: "/flood" }],
  ] as const)("and to no other: %s", async ([, given]) => {
    const before = atPod.length;
    expect(await http(given)).toBeUndefined();
    expect(atPod.length).toBeGreaterThan(before);
    expect(atOther).toEqual([]);
  });

  test.for(["localhost", "LOCALHOST", "127.0.0.1", "::1"])("%s is the Pod's own loopback", async (host) => {
    const before = dialled.length;
    expect(await http({ host })).toBeUndefined();
    expect(await run({ tcpSocket: { host, port } })).toBeUndefined();
    expect(dialled.slice(before)).toEqual([port, port]);
  });

  test.for([
    otherAddress,
    "127.0.0.02",
    "0.0.0.0",
    "169.254.169.254",
    "10.96.0.1",
    "metadata.google.internal",
    "::ffff:127.0.0.3",
    "2130706435",
  ])("fails for %s, and nothing is sent there", async (host) => {
    const refused = `Cannot connect to host "${host}": it is not this Pod`;
    expect(await http({ host, httpHeaders: [{ name: "Metadata-Flavor", value: "Google" }] })).toBe(refused);
    expect(await run({ tcpSocket: { host, port } })).toBe(refused);
    expect(atOther).toEqual([]);
  });

  test("fails when the response headers are too large", async () => {
    expect(await http({ path: "/heads" })).toContain("Header overflow");
  });

  test("times out when the Pod accepts the connection and sends nothing", async () => {
    const silent = createTcpServer().listen(0, podAddress);
    await once(silent, "listening");
    const at = (silent.address() as AddressInfo).port;
    const container = { name: "main", image: "host" };
    const target = { container, address: podAddress, dial, run: () => Promise.reject(new Error("no commands")) };
    const probe = { httpGet: { port: at }, timeoutSeconds: 1 } as Probe;
    expect(await runProbe(probe, target, AbortSignal.timeout(50))).toBe("no answer within 1s");
    const grpc = { grpc: { port: at }, timeoutSeconds: 1 } as Probe;
    expect(await runProbe(grpc, target, AbortSignal.timeout(50))).toBe("no answer within 1s");
    silent.close();
  });
});
