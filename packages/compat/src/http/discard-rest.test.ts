import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { discardRest } from "./discard-rest.ts";
import { badRequest } from "./http-error.ts";
import { sendError } from "./reply.ts";

const mebi = 1024 * 1024;
let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A server that refuses every request, as the listener does. */
async function refusing(): Promise<Socket> {
  server = createServer((request: IncomingMessage, response) => {
    void discardRest(request).then(() => sendError(response, badRequest("refused")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

const head = (length: number): string => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`;

test("a client that sends its whole body first reads why it was refused, and uses the connection again", async () => {
  const socket = await refusing();
  let text = "";
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString();
  });
  for (let count = 1; count <= 2; count++) {
    socket.write(head(8 * mebi));
    for (let sent = 0; sent < 8; sent++) {
      if (!socket.write(Buffer.alloc(mebi))) await once(socket, "drain");
    }
    await expect.poll(() => text.split("HTTP/1.1 400").length - 1).toBe(count);
  }
  expect(text).not.toContain("connection: close");
});

test("a body that does not end is not read forever", async () => {
  const socket = await refusing();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket
    .on("error", () => undefined)
    .on("close", () => resolve())
    .resume();
  socket.write(head(1024 * mebi));
  const more = (): void => {
    if (!socket.destroyed) socket.write(Buffer.alloc(mebi), () => setImmediate(more));
  };
  more();
  await closed;
  expect(socket.bytesWritten).toBeLessThan(512 * mebi);
});
