import { expect, test } from "vitest";
import type { HttpResponse, SendHttp } from "../http/exchange.ts";
import { CodeContext } from "./code.ts";
import { Files } from "./files.ts";
import { Router } from "./router.ts";

const target = { namespace: "default", name: "box" };

/** A sandbox that streams these lines to a client that asks for signs of life. */
function sandboxThatSends(...lines: readonly object[]): Router {
  const send: SendHttp = async ({ url }) => {
    const isAsked = new URL(url).searchParams.get("keepalive") === "60";
    const isContext = url.endsWith("/contexts");
    const sent = isContext ? [{ id: "c" }] : isAsked ? lines : [{ type: "stdout", text: "not asked" }];
    const body = async function* (): AsyncGenerator<Uint8Array> {
      for (const line of sent) yield new TextEncoder().encode(`${JSON.stringify(line)}\n`);
    };
    return { status: 200, header: () => undefined, body: body() } satisfies HttpResponse;
  };
  return new Router(send, { url: "http://router", authorize: async () => ({}) });
}

const contextIn = (router: Router): Promise<CodeContext> => CodeContext.create({ router, target });

test("running code asks for signs of life and ignores them", async () => {
  const lines = [{ type: "keepalive" }, { type: "stdout", text: "x" }, { type: "keepalive" }, { type: "end" }];
  const context = await contextIn(sandboxThatSends(...lines));
  expect(await context.run("slow()")).toEqual({ stdout: "x", stderr: "", results: [] });
});

test("a run whose stream has no end is not taken for a result", async () => {
  const context = await contextIn(sandboxThatSends({ type: "stdout", text: "x" }));
  await expect(context.run("slow()")).rejects.toMatchObject({ reason: "OutcomeUnknown" });
});

test.each([
  ["older servers", []],
  ["newer servers", [{ type: "keepalive" }, { type: "end" }]],
])("a run whose interpreter ended has a result: %s", async (_servers, last) => {
  const error = { name: "ContextEnded", message: "the context has ended", traceback: "" };
  const lines = [
    { type: "stdout", text: "x" },
    { type: "result", data: { "text/plain": "1" } },
  ];
  const context = await contextIn(
    sandboxThatSends(...lines, { type: "error", ...error, traceback: undefined }, ...last),
  );
  const result = { stdout: "x", stderr: "", results: [{ "text/plain": "1" }], text: "1", error };
  expect(await context.run("import os; os._exit(3)")).toEqual(result);
});

test("a watch asks for signs of life and does not yield them", async () => {
  const router = sandboxThatSends({ type: "ready" }, { type: "keepalive" }, { type: "created", path: "a" });
  const changes: unknown[] = [];
  let ready = 0;
  for await (const change of new Files(router, target).watch("/", { onReady: () => ready++ })) changes.push(change);
  expect([ready, changes]).toEqual([1, [{ type: "created", path: "a" }]]);
});
