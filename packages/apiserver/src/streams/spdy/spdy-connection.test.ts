import { once } from "node:events";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeFrame, type Frame } from "./frames.ts";
import { HeaderWriter } from "./header-block.ts";
import type { SpdyStream } from "./spdy-stream.ts";
import { TestClient } from "./test-client.test.support.ts";

async function opened(headers: Record<string, string> = {}): Promise<{ client: TestClient; stream: SpdyStream }> {
  const client = new TestClient();
  client.open(1, headers);
  await client.hears("syn-reply");
  return { client, stream: client.streams[0] as SpdyStream };
}

describe("SpdyConnection", () => {
  test("delivers headers, data and end of each stream", async () => {
    const { client, stream } = await opened({ streamType: "stdin" });
    expect(stream.headers.get("streamtype")).toBe("stdin");
    client.say(1, "hello ");
    client.say(1, "world", true);
    // An async loop would also close the stream for writing at its end.
    let said = "";
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    await once(stream, "end");
    expect(said).toBe("hello world");
    stream.end("answer");
    await client.hears("data", (frame) => frame.fin);
    expect(client.data(1).toString()).toBe("answer");
    expect(client.received.filter(({ type }) => type === "rst-stream")).toEqual([]);
  });

  test("answers pings", async () => {
    const client = new TestClient();
    client.send({ type: "ping", id: 77 });
    expect(await client.hears("ping")).toEqual({ type: "ping", id: 77 });
  });

  test("sends without limit to a client that sends no window updates, like Kubernetes' own", async () => {
    const { client, stream } = await opened();
    stream.end(Buffer.alloc(500_000, "x"));
    await client.hears("data", (frame) => frame.fin);
    expect(client.data(1).length).toBe(500_000);
  });

  test("respects the windows of a client that uses them", async () => {
    const { client, stream } = await opened();
    client.send({ type: "window-update", streamId: 0, delta: 1_000_000 });
    await client.settled();
    stream.end(Buffer.alloc(100_000, "x"));
    await client.hears("data");
    await client.settled(3);
    expect(client.data(1).length).toBe(65_536);
    client.send({ type: "window-update", streamId: 1, delta: 34_463 });
    await client.settled(5);
    expect(client.data(1).length).toBe(99_999);
    client.send({ type: "window-update", streamId: 1, delta: 1 });
    await client.hears("data", (frame) => frame.fin);
    expect(client.data(1).length).toBe(100_000);
  });

  test("resets a stream whose window exceeds its maximum", async () => {
    const { client, stream } = await opened();
    client.send({ type: "window-update", streamId: 1, delta: 0x7f_ff_ff_ff });
    expect(await client.hears("rst-stream")).toMatchObject({ streamId: 1, status: 7 });
    expect(stream.destroyed).toBe(true);
  });

  test("stops reading from the network while streams are not read, and continues afterwards", async () => {
    const { client, stream } = await opened();
    const total = 8 * 1024 * 1024;
    const chunk = Buffer.alloc(32 * 1024, "x");
    let sent = 0;
    const sending = (async () => {
      for (; sent < total; sent += chunk.length) {
        const frame = encodeFrame({ type: "data", streamId: 1, fin: sent + chunk.length >= total, bytes: chunk });
        if (!client.wire.write(frame)) await once(client.wire, "drain");
      }
    })();
    // Sending stops when all buffers are full.
    for (let before = -1; before !== sent; ) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(sent).toBeLessThan(2 * 1024 * 1024);
    let received = 0;
    for await (const part of stream as AsyncIterable<Buffer>) received += part.length;
    await sending;
    expect(received).toBe(total);
    const given = client.received
      .filter((frame) => frame.type === "window-update")
      .filter((frame) => frame.streamId === 0);
    expect(given.length).toBeGreaterThan(100);
  });

  test("resets abandoned streams, and closes all streams when the client disconnects", async () => {
    const { client, stream } = await opened();
    client.open(3);
    await client.hears("syn-reply", (frame) => frame.streamId === 3);
    stream.destroy();
    expect(await client.hears("rst-stream")).toMatchObject({ streamId: 1, status: 5 });
    client.wire.destroy();
    await client.connection.closed;
    expect(client.streams[1]?.destroyed).toBe(true);
  });

  test("bounds the number of streams", async () => {
    const client = new TestClient();
    for (let id = 1; id <= 2001; id += 2) client.open(id);
    expect(await client.hears("rst-stream")).toMatchObject({ streamId: 2001, status: 3 });
    expect(client.streams.length).toBe(1000);
    client.wire.destroy();
    await client.connection.closed;
  });

  const block = new HeaderWriter().write(new Map());
  test.for<[string, Frame[]]>([
    ["a stream with a server ID", [{ type: "syn-stream", streamId: 2, fin: false, headerBlock: block }]],
    [
      "headers that are none",
      [{ type: "syn-stream", streamId: 1, fin: false, headerBlock: Buffer.from("\x00\x00\x00\x01") }],
    ],
    ["a connection window above its maximum", [{ type: "window-update", streamId: 0, delta: 0x7f_ff_ff_ff }]],
    ["an initial window above its maximum", [{ type: "settings", values: new Map([[7, 0xff_ff_ff_ff]]) }]],
  ])("sends GOAWAY and closes after %s", async ([, frames]) => {
    const client = new TestClient();
    for (const frame of frames) client.send(frame);
    expect(await client.hears("go-away")).toMatchObject({ status: 1 });
    await client.connection.closed;
  });

  test("a stream id that was used before ends the connection", async () => {
    const { client } = await opened();
    client.open(1);
    expect(await client.hears("go-away")).toMatchObject({ status: 1 });
  });

  test("does not fail on randomly changed sessions", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 5 }),
        fc.boolean(),
        async (changes, cut) => {
          const headers = new HeaderWriter();
          const open = (streamId: number): Frame => ({
            type: "syn-stream",
            streamId,
            fin: false,
            headerBlock: headers.write(new Map([["streamtype", "data"]])),
          });
          const session = Buffer.concat(
            [
              open(1),
              { type: "data" as const, streamId: 1, fin: false, bytes: Buffer.alloc(300, "x") },
              open(3),
              { type: "window-update" as const, streamId: 1, delta: 10 },
              { type: "rst-stream" as const, streamId: 3, status: 5 },
              { type: "data" as const, streamId: 1, fin: true, bytes: Buffer.from("end") },
            ].map(encodeFrame),
          );
          for (const [at, byte] of changes) session[at % session.length] = byte;
          const client = new TestClient();
          client.wire.end(cut ? session.subarray(0, session.length / 2) : session);
          await client.connection.closed;
          expect(client.streams.every(({ destroyed }) => destroyed)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});
