/** The server in the sandbox: a small page, uploads, downloads and a WebSocket echo. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

const host = "127.77.0.1";
const page = Buffer.alloc(128, "x");
const block = Buffer.alloc(64 * 1024, 7);

function take(request: IncomingMessage, response: ServerResponse): void {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on("end", () => response.end(String(bytes)));
}

function give(response: ServerResponse, size: number): void {
  let left = size;
  const more = (): void => {
    while (left > 0) {
      const chunk = left < block.length ? block.subarray(0, left) : block;
      left -= chunk.length;
      if (response.write(chunk)) continue;
      response.once("drain", more);
      return;
    }
    response.end();
  };
  response.setHeader("content-length", size);
  more();
}

const server = createServer((request, response) => {
  const [, size] = /^\/bytes\/(\d+)$/.exec(request.url ?? "") ?? [];
  if (request.method === "POST") take(request, response);
  else if (size !== undefined) give(response, Number(size));
  else response.setHeader("content-length", page.length).end(page);
});
server.keepAliveTimeout = 60_000;
new WebSocketServer({ server }).on("connection", (socket) => socket.on("message", (data) => socket.send(data)));
server.listen({ host, port: 0 });
await once(server, "listening");
console.log(JSON.stringify({ host, port: (server.address() as AddressInfo).port }));
