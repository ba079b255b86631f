import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HttpFailure } from "./http-failure.ts";
import { startUpstream } from "./upstream.test.support.ts";
import { Upstream } from "./upstream.ts";

const tooMany = { status: 429 };

/** Requests that the server answers only with `finish`. */
describe("open requests", () => {
  let stack: AsyncDisposableStack;
  let upstream: Upstream;
  let waiting: ServerResponse[];
  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    waiting = [];
    const server = await startUpstream((_request, response) => {
      response.flushHeaders();
      waiting.push(response);
    });
    stack.use(server);
    upstream = stack.use(new Upstream(server.url, { maxRequests: 16 }));
  });
  afterEach(() => stack.disposeAsync());

  const open = (user: string, more: { headers?: Record<string, string>; signal?: AbortSignal } = {}) =>
    upstream.send({ method: "GET", path: "/", session: { token: "x", user }, ...more });
  const openAll = (user: string, count: number): Promise<IncomingMessage[]> =>
    Promise.all(Array.from({ length: count }, () => open(user)));

  test("of one user leave some for others, and for logins", async () => {
    await openAll("mallory", 4);
    await expect(open("mallory")).rejects.toMatchObject(tooMany);
    await openAll("alice", 4);
    await openAll("system:serviceaccount:bob:one", 4);
    await expect(open("system:serviceaccount:bob:two")).rejects.toMatchObject(tooMany);
    for (let i = 0; i < 8; i += 1) await upstream.send({ method: "POST", path: "/", session: { token: "x" } });
    expect(waiting.length).toBe(20);
  });

  test("are counted until they end: answered, given up, cut off or not valid", async () => {
    const cancelled = new AbortController();
    const [answered, cut] = await openAll("mallory", 3);
    const given = await open("mallory", { signal: cancelled.signal });
    given.on("error", () => undefined);
    cut?.on("error", () => undefined);
    await expect(open("mallory")).rejects.toMatchObject(tooMany);
    waiting[0]?.end("done");
    expect(await text(answered as IncomingMessage)).toBe("done");
    waiting[1]?.destroy();
    cancelled.abort();
    const succeeds = (): Promise<boolean> => open("mallory").then(Boolean, () => false);
    for (let i = 0; i < 3; i += 1) await expect.poll(succeeds).toBe(true);
    await expect(open("mallory")).rejects.toMatchObject(tooMany);
    for (let i = 0; i < 20; i += 1) {
      await expect(open("alice", { headers: { "x-sandbox-id": "a\r\nb" } })).rejects.toThrow("Invalid character");
    }
    await openAll("alice", 2);
  });

  test("that never arrive are not counted", async () => {
    const nowhere = stack.use(new Upstream("http://127.0.0.1:1", { maxRequests: 4 }));
    const failure = (): Promise<unknown> =>
      nowhere
        .send({ method: "GET", path: "/", session: { token: "x", user: "alice" } })
        .catch(({ status }: HttpFailure) => status);
    for (let i = 0; i < 5; i += 1) await expect.poll(failure).toBe(502);
  });
});
