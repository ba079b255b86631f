import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { silentLogger } from "@agent-sandbox/kube";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiGateway } from "./api-gateway.ts";

const server = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on("error", () => socket.destroy());
  socket.pipe(socket);
});
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => void server.close());

/** A gateway for clients at loopback addresses of namespace "a". */
async function start(isAllowed: () => boolean = () => true): Promise<ApiGateway> {
  const { port } = server.address() as AddressInfo;
  return await ApiGateway.start({
    address: "127.0.0.1",
    apiServer: () => ({ host: "127.0.0.1", port, authority: "" }),
    namespaceOf: () => (isAllowed() ? "a" : undefined),
    log: silentLogger,
    recheckMs: 20,
  });
}

const open = (port: number, from = "127.0.0.1"): Socket =>
  connect({ port, host: "127.0.0.1", localAddress: from }).on("error", () => undefined);

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.once("close", () => resolve()).resume();
  });

test("forwards bytes in both directions, and the end of each", async () => {
  await using gateway = await start();
  const socket = connect({ port: gateway.port, host: "127.0.0.1", allowHalfOpen: true });
  socket.end("hello".repeat(100_000));
  expect(await text(socket)).toBe("hello".repeat(100_000));
});

test("closes connections of others, also those that are no longer allowed", async () => {
  let isAllowed = true;
  await using gateway = await start(() => isAllowed);
  const socket = open(gateway.port);
  socket.write("x");
  await once(socket, "data");
  isAllowed = false;
  await closed(socket);
  const refused = open(gateway.port);
  await closed(refused);
  expect([socket.destroyed, refused.bytesRead]).toEqual([true, 0]);
});

test("a Pod and a namespace have a limited number of connections, and new ones after those are closed", async () => {
  await using gateway = await start();
  const isServed = async (socket: Socket): Promise<boolean> => {
    socket.write("x");
    return await new Promise((resolve) => {
      socket.once("data", () => resolve(true)).once("close", () => resolve(false));
    });
  };
  const some = async (count: number, from: string): Promise<Socket[]> => {
    const sockets = Array.from({ length: count }, () => open(gateway.port, from));
    const served = await Promise.all(sockets.map(isServed));
    return sockets.filter((_, at) => served[at]);
  };
  const first = await some(20, "127.0.0.2");
  expect(first).toHaveLength(16);
  const others = await Promise.all(["127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"].map((from) => some(16, from)));
  expect(others.flat()).toHaveLength(48);
  for (const socket of first) socket.destroy();
  await expect.poll(async () => (await some(1, "127.0.0.2")).length).toBe(1);
});
