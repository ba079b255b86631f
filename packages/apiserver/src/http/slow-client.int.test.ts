import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import type { WatchEvent } from "@agent-sandbox/kube";
import { describe, expect, test } from "vitest";
import { anonymous } from "../auth/identity.ts";
import { silentLogger } from "../logger.ts";
import type { Reply } from "../request/api-request.ts";
import { serverIdentity } from "../tls/server-identity.ts";
import { HttpsServer } from "./https-server.ts";
import { readAll } from "./read-socket.test.support.ts";

describe("a slow client", () => {
  type Handle = ConstructorParameters<typeof HttpsServer>[0]["handle"];
  const connected = async (handle: Handle, requestMs = 60_000): Promise<{ server: HttpsServer; socket: TLSSocket }> => {
    const { authority, ...own } = serverIdentity({ folder: undefined, names: ["127.0.0.1"], nowMs: Date.now() });
    const server = new HttpsServer({
      ...own,
      authority: authority.certificate,
      authenticator: { authenticate: () => anonymous },
      logger: silentLogger,
      timeouts: { headersMs: requestMs / 2, requestMs, stalledMs: 200 },
      handle,
      upgrade: () => undefined,
    });
    const { port } = await server.listen("127.0.0.1", 0);
    const socket = connect({ host: "127.0.0.1", port, ca: authority.certificate });
    await once(socket, "secureConnect");
    socket.on("error", () => undefined);
    return { server, socket };
  };

  const slowly = async (text: string): Promise<string> => {
    const { server, socket } = await connected(() => Promise.reject(new Error("never")), 400);
    socket.write(text);
    const answer = await readAll(socket);
    await server.close();
    return answer;
  };

  const endless = async function* (): AsyncGenerator<readonly WatchEvent[]> {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { x: "x".repeat(1 << 20) } };
    for (;;) yield [{ type: "ADDED", object }];
  };

  test.for<[string, () => Reply]>([
    ["a large response", () => ({ kind: "text", status: 200, headers: {}, text: "x".repeat(1 << 26) })],
    ["a watch", () => ({ kind: "watch", status: 200, headers: {}, events: endless() })],
  ])("that does not read %s is disconnected", async ([, reply]) => {
    const gone = Promise.withResolvers<void>();
    const { server, socket } = await connected(async ({ signal }) => {
      signal?.addEventListener("abort", () => gone.resolve());
      return reply();
    });
    socket.pause();
    socket.write("GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n");
    await expect(gone.promise).resolves.toBeUndefined();
    socket.destroy();
    await server.close();
  });

  test("that does not finish its headers is disconnected", async () => {
    expect(await slowly("GET /api HTTP/1.1\r\nHost: x\r\n")).toMatch(/^(HTTP\/1.1 408|$)/);
  });

  test("that does not finish its body is disconnected", async () => {
    const head = "POST /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 10\r\n\r\n{";
    expect(await slowly(head)).toMatch(/^(HTTP\/1.1 408|$)/);
  });
});
