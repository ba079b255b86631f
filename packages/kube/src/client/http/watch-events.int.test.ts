import { describe, expect, test } from "vitest";
import type { KubeError } from "../../errors.ts";
import type { TransportRequest, WatchEvent } from "../../transport.ts";
import { type Answer, failing, httpClients, json, openerOf, until } from "./hostile-api.test.support.ts";

const get: TransportRequest = { method: "GET", path: "/api/v1/pods" };
const post: TransportRequest = { method: "POST", path: "/api/v1/pods", body: { kind: "Pod" } };

async function gather(events: AsyncIterable<readonly WatchEvent[]> | undefined) {
  const seen: WatchEvent[] = [];
  try {
    for await (const batch of events ?? []) seen.push(...batch);
  } catch (error) {
    return { seen, error: error as KubeError };
  }
  return { seen };
}

const event = (name: string): string => `${JSON.stringify({ type: "ADDED", object: { metadata: { name } } })}\n`;
const watching =
  (write: (response: Parameters<Answer>[1], socket: Parameters<Answer>[0]["socket"]) => void): Answer =>
  (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    write(response, request.socket);
  };
const named = (...names: string[]) => names.map((name) => ({ type: "ADDED", object: { metadata: { name } } }));

describe.each(httpClients)("a watch with %o", (client) => {
  const open = openerOf(client);

  test("returns complete events as they arrive and ends when the server closes", async () => {
    const { transport } = await open(
      watching((response) => response.end(`${event("a")}\n${event("b")}${event("c").slice(0, -1)}`)),
    );
    const { events } = await transport.stream(get);
    expect(await gather(events)).toEqual({ seen: named("a", "b") });
  });

  test("handles characters and lines that are split anywhere", async () => {
    const bytes = Buffer.from(event("fœx-🦊") + event("b"));
    const { transport } = await open(
      watching((response) => {
        const drip = async (): Promise<void> => {
          for (const byte of bytes) await new Promise((next) => response.write(Buffer.of(byte), next));
          response.end();
        };
        void drip();
      }),
    );
    expect(await gather((await transport.stream(get)).events)).toEqual({ seen: named("fœx-🦊", "b") });
  });

  test("that breaks returns the complete events, then the error", async () => {
    const { transport } = await open(
      watching(
        (response, socket) =>
          void response.write(event("a") + event("b").slice(0, 20), () =>
            setTimeout(() => socket.resetAndDestroy(), 20),
          ),
      ),
    );
    const { seen, error } = await gather((await transport.stream(get)).events);
    expect(seen).toEqual(named("a"));
    expect(error?.reason).toBe("Interrupted");
  });

  test.for<[string, string, RegExp]>([
    ["garbage", "\u0000\u0001garbage\n", /garbage.* is not a watch event/],
    ["a number", "42\n", /"42" is not a watch event/],
    ["a line above the limit", "x".repeat(2_000), /longer than 1000 bytes/],
  ])("that contains %s returns the events before it, then the error", async ([, text, message]) => {
    const { transport, api } = await open(
      watching((response) => void response.write(event("a") + text)),
      { maxEventBytes: 1_000 },
    );
    const { seen, error } = await gather((await transport.stream(get)).events);
    expect(seen).toEqual(named("a"));
    expect(error).toMatchObject({ reason: "InvalidResponse", message: expect.stringMatching(message) });
    await until(() => api.openConnections === 0);
  });

  test("returns an event of many megabytes", async () => {
    const huge = "x".repeat(8 << 20);
    const { transport } = await open(watching((response) => response.end(event(huge) + event("b"))));
    const { seen } = await gather((await transport.stream(get)).events);
    expect(seen.map(({ object }) => object.metadata?.name?.length)).toEqual([huge.length, 1]);
  });

  test("that is rejected returns the response, and one that is an HTML page is an error", async () => {
    const { transport } = await open((_, response, nth) => {
      if (nth === 1) json(response, { kind: "Status", code: 410 }, 410);
      else response.writeHead(200, { "content-type": "text/html" }).end("<html>");
    });
    expect(await transport.stream(get)).toMatchObject({ status: 410, body: { code: 410 } });
    expect(await failing(transport.stream(get))).toMatchObject({ reason: "InvalidResponse" });
  });

  test("does not delay requests, however many watches there are", async () => {
    const { api, transport } = await open(
      (request, response) => {
        if (request.method === "POST") json(response, {});
        else response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
      },
      { connections: 1 },
    );
    const watches = await Promise.all(Array.from({ length: 50 }, () => transport.stream(get)));
    expect((await transport.send(post)).status).toBe(200);
    expect(api.openConnections).toBe(51);
    const endings = watches.map(({ events }) => gather(events));
    await transport.close();
    expect((await Promise.all(endings)).every(({ error }) => error?.reason === "Interrupted")).toBe(true);
  });

  test("lasts longer than the request timeout, and ends when its signal aborts", async () => {
    const { api, transport } = await open(
      watching((response) => setTimeout(() => response.write(event("late")), 3_000)),
      { requestTimeoutMs: 2_000 },
    );
    const abort = new AbortController();
    const { events } = await transport.stream({ ...get, signal: abort.signal });
    const seen: WatchEvent[] = [];
    const error = await failing(
      (async () => {
        for await (const batch of events ?? []) {
          seen.push(...batch);
          abort.abort();
        }
      })(),
    );
    expect(seen).toEqual(named("late"));
    expect(error.reason).toBe("Interrupted");
    await until(() => api.openConnections === 0);
  });

  test("applies backpressure when its reader is slow, and loses nothing", async () => {
    const count = 3_000;
    let written = 0;
    const { transport } = await open(
      watching((response) => {
        const pump = async (): Promise<void> => {
          for (; written < count; written += 1) {
            if (!response.write(event(`${written}-${"x".repeat(10_000)}`)))
              await new Promise((next) => response.once("drain", next));
          }
          response.end();
        };
        void pump();
      }),
    );
    const { events } = await transport.stream(get);
    let held = 0;
    let seen = 0;
    for await (const batch of events ?? []) {
      if (seen === 0) {
        // The server can send what fits into the buffers, then it has to wait.
        for (let before = -1; before !== written; ) {
          before = written;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        held = written;
      }
      seen += batch.length;
    }
    expect(held).toBeLessThan(count);
    expect(seen).toBe(count);
  });
});
