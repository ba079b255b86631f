import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { encodeFrame, endFlag } from "../connect/envelope.ts";
import { Files } from "./file-calls.ts";
import { streamProcess } from "./process-calls.ts";
import { runCode } from "./run-code.ts";
import { Runtime, type Target } from "./runtime.ts";

const target: Target = { namespace: "default", name: "box", uid: "1", token: "t" };
const signal = new AbortController().signal;

/** Reads all that a call yields from a sandbox that answers so. */
async function readAll<T>(answer: RequestListener, call: (runtime: Runtime) => AsyncIterable<T>): Promise<T[]> {
  await using server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  using runtime = new Runtime(() => new URL(`http://127.0.0.1:${port}`));
  const all: T[] = [];
  for await (const one of call(runtime)) all.push(one);
  return all;
}

function lines(...events: readonly object[]): RequestListener {
  return ({ url = "" }, response) => {
    const { searchParams } = new URL(url, "http://sandbox");
    const isAsked = searchParams.get("keepalive") === "60";
    const sent = isAsked ? events : [{ type: "not asked" }];
    response.end(sent.map((event) => `${JSON.stringify(event)}\n`).join(""));
  };
}

test("a watch asks for signs of life and does not yield them", async () => {
  const answer = lines({ type: "ready" }, { type: "keepalive" }, { type: "created", path: "/a" });
  const events = await readAll(answer, (runtime) =>
    new Files(runtime, target, { signal }).watch("/", { recursive: false }),
  );
  expect(events).toEqual([{ type: "ready" }, { type: "created", path: "/a" }]);
});

test("running code asks for signs of life and does not yield them", async () => {
  const run = { context: "c", language: "python", code: "1", variables: {} };
  const events = await readAll(lines({ type: "keepalive" }, { type: "end" }), async function* (runtime) {
    yield* await runCode(runtime, target, run, signal);
  });
  expect(events).toEqual([{ type: "end" }]);
});

test("a process asks for signs of life and does not yield them", async () => {
  const answer: RequestListener = ({ headers }, response) => {
    const isAsked = headers["keepalive-ping-interval"] === "60";
    const events = isAsked ? [{ init: { processId: 1 } }, {}, { exit: {} }] : [];
    response.write(Buffer.concat(events.map((event) => encodeFrame(event))));
    response.end(encodeFrame({}, endFlag));
  };
  const events = await readAll(answer, (runtime) => streamProcess(runtime, target, "Start", {}, signal));
  expect(events).toEqual([{ init: { processId: 1 } }, { exit: {} }]);
});
