import { createServer, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { duplexPair } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { Deadlines } from "../deadlines.ts";
import { Backlog } from "../proxy/backlog.ts";
import { readWhole } from "../request/request-body.ts";
import { sendResponse } from "../request/response-writer.ts";
import { ClientConnection } from "./client-connection.ts";

/** A request as it was parsed. */
interface Understood {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

const deadlines = new Deadlines(1000);
afterAll(() => deadlines[Symbol.dispose]());

/** Sends bytes in pieces and waits until they have been read. */
async function send(
  socket: { write(bytes: Buffer): unknown; resume(): unknown },
  pieces: readonly string[],
): Promise<void> {
  socket.resume();
  for (const piece of pieces) {
    socket.write(Buffer.from(piece, "latin1"));
    await nextTurn();
  }
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
}

async function readByUs(pieces: readonly string[]): Promise<Understood[]> {
  const understood: Understood[] = [];
  const [near, far] = duplexPair();
  const options = {
    deadlines,
    backlog: new Backlog(2 ** 30),
    maxHeaderBytes: 16_384,
    headMs: 10_000,
    idleMs: 10_000,
    onGone: () => undefined,
    connectionInfo: { key: "", peer: "10.0.0.1", isSecure: false, certificate: undefined },
  };
  const connection = new ClientConnection(far as unknown as Socket, {
    ...options,
    onRequest: ({ method, url, rawHeaders, body, response, upgrade }) => {
      if (upgrade !== undefined) return void far.destroy();
      const take = (bytes: Buffer): void => {
        understood.push({ method, url, rawHeaders, body: bytes.toString("latin1") });
        sendResponse(response, { status: 200, headers: [] });
      };
      readWhole(body, { maxBytes: 1e6, withinMs: 10_000 }).then(take, () => far.destroy());
    },
  });
  await send(near, pieces);
  near.destroy();
  far.destroy();
  deadlines.forget(connection);
  return understood;
}

/** Node's parser in strict mode. */
async function readByNode(pieces: readonly string[]): Promise<Understood[]> {
  const understood: Understood[] = [];
  const [near, far] = duplexPair();
  const server = createServer({ requireHostHeader: false, insecureHTTPParser: false });
  server.on("request", (request: IncomingMessage, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString("latin1");
    });
    request.on("end", () => {
      const { method = "", url = "", rawHeaders } = request;
      understood.push({ method, url, rawHeaders, body });
      response.end();
    });
  });
  // Requests before the error count.
  server.on("clientError", () => undefined);
  server.emit("connection", far);
  await send(near, pieces);
  near.destroy();
  far.destroy();
  return understood;
}

/** Splits a text at these positions. */
function cut(text: string, places: readonly number[]): string[] {
  const all = [...new Set([0, ...places.filter((place) => place < text.length), text.length])].sort((a, b) => a - b);
  return all.slice(1).map((end, index) => text.slice(all[index], end));
}

const hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
const oddity = fc.constantFrom(
  " ",
  "\t",
  "\r",
  "\n",
  "\0",
  "\x0b",
  "\x7f",
  "\xff",
  ":",
  ",",
  ";",
  "0",
  "\r\n",
  "\r\n ",
);
const header = fc.constantFrom(
  "Host: x",
  "Content-Length: 0",
  "Content-Length: 5",
  "Content-Length: 33",
  "Content-Length: 5, 5",
  "content-length:5",
  "Content-Length: +5",
  "Content-Length: 0x5",
  "Content-Length : 5",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: CHUNKED",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding:\x0bchunked",
  "Transfer-Encoding: identity",
  "Transfer-Encoding:\tchunked",
  "Transfer_Encoding: chunked",
  "Connection: close",
  "Connection: content-length",
  "X-A: b",
  "X-A:",
  ": b",
);
const body = fc.constantFrom(
  "",
  "hello",
  hidden,
  "0\r\n\r\n",
  "5\r\nhello\r\n0\r\n\r\n",
  "5;a=b\r\nhello\r\n0\r\n\r\n",
  "5\nhello\r\n0\r\n\r\n",
  "5\r\nhello0\r\n\r\n",
  "05\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
  "0x5\r\nhello\r\n0\r\n\r\n",
  "5 \r\nhello\r\n0\r\n\r\n",
  "5\r\nhello\r\n0\r\nX-T : 1\r\n\r\n",
);
const message = fc
  .record({
    method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS"),
    target: fc.constantFrom("/", "/a?b=c", "/%00", "/a/../b", "//x"),
    version: fc.constantFrom("1.1", "1.1", "1.1", "1.0"),
    headers: fc.array(header, { maxLength: 4 }),
    body,
  })
  .map(
    ({ method, target, version, headers, body: data }) =>
      `${method} ${target} HTTP/${version}\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n${data}`,
  );

describe("every byte stream that is accepted", () => {
  test("is parsed as the same requests by Node's strict parser", { timeout: 60_000 }, async () => {
    const streams = fc.record({
      messages: fc.array(message, { minLength: 1, maxLength: 3 }),
      odd: fc.array(fc.record({ place: fc.nat({ max: 200 }), text: oddity }), { maxLength: 2 }),
      cuts: fc.array(fc.nat({ max: 200 }), { maxLength: 4 }),
    });
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(streams, async ({ messages, odd, cuts }) => {
        let text = messages.join("") + hidden;
        for (const { place, text: strange } of odd) text = text.slice(0, place) + strange + text.slice(place);
        const ours = await readByUs(cut(text, cuts));
        taken += ours.length;
        // The parser accepts any target. Invalid ones are refused later, when the route is determined.
        if (ours.length === 0 || !ours.every(({ url }) => url.startsWith("/"))) return;
        expect((await readByNode([text])).slice(0, ours.length)).toEqual(ours);
      }),
      { numRuns: 1500 },
    );
    // A parser that refuses everything would pass too.
    expect(taken).toBeGreaterThan(200);
  });

  test("is parsed completely if it has several requests", async () => {
    const one = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";
    const two = "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nyo\r\n0\r\n\r\n";
    const understood = await readByUs([one + two + hidden]);
    expect(understood.map(({ url, body: data }) => `${url} ${data}`)).toEqual(["/a hi", "/b yo", "/hidden "]);
  });
});
