import type { Sandbox } from "@agent-sandbox/sdk";
import { namedServers, type SendHttp } from "@agent-sandbox/sdk/internal";
import { expect, test } from "vitest";
import type { Call } from "../caller.ts";
import { callerOf } from "../connect.ts";
import { runCode } from "./run-code.ts";

const sandbox = { name: "box", namespace: "default", uid: "u" } as unknown as Sandbox;
const wanted = { code: "slow()", language: "python", context: "main", timeoutSeconds: 3600 } as const;

function callTo(...lines: readonly object[]): Call {
  return callThat(async ({ url }) => {
    const isAsked = new URL(url).searchParams.get("keepalive") === "60";
    return {
      status: 200,
      header: () => undefined,
      body: (async function* () {
        for (const line of isAsked ? lines : []) yield Buffer.from(`${JSON.stringify(line)}\n`);
      })(),
    };
  });
}

function callThat(send: SendHttp): Call {
  const servers = namedServers({ server: "http://api", token: "t" }, "http://router");
  const caller = callerOf({ user: "anna", send, servers });
  const settings = { source: undefined, autoSandbox: false };
  return { caller, settings, signal: new AbortController().signal, progress: () => undefined };
}

test("code that is silent for minutes asks for signs of life, which are no output", async () => {
  const beat = { type: "keepalive" };
  const call = callTo(beat, { type: "stdout", text: "x\n" }, beat, { type: "end", execution_count: 3 });
  const { stdout, values, executionCount } = await runCode(call, sandbox, wanted);
  expect([stdout.text(), values, executionCount]).toEqual(["x\n", [], 3]);
});

test("a run whose stream has no end is not taken for a result", async () => {
  const call = callTo({ type: "stdout", text: "x\n" });
  await expect(runCode(call, sandbox, wanted)).rejects.toMatchObject({ reason: "OutcomeUnknown" });
});

test.each([
  ["older servers", []],
  ["newer servers", [{ type: "end" }]],
])("a run whose interpreter ended has a result: %s", async (_servers, last) => {
  const ended = { type: "error", name: "ContextEnded", message: "the context has ended" };
  const call = callTo({ type: "stdout", text: "x\n" }, ended, ...last);
  const { stdout, error } = await runCode(call, sandbox, wanted);
  expect([stdout.text(), error?.name, error?.value]).toEqual(["x\n", "ContextEnded", "the context has ended"]);
});

test("a context that another call is creating is waited for", async () => {
  const asked: string[] = [];
  const answer = (status: number, body: object): Awaited<ReturnType<SendHttp>> => ({
    status,
    header: () => undefined,
    body: (async function* () {
      yield Buffer.from(`${JSON.stringify(body)}\n`);
    })(),
  });
  const call = callThat(async ({ url }) => {
    const path = new URL(url).pathname;
    asked.push(path);
    // Its name is taken as soon as its creation begins.
    if (path === "/v1/contexts") return answer(409, { code: "CONFLICT", message: "another one has the name" });
    if (asked.length < 4) return answer(404, { code: "NOT_FOUND", message: "no such context" });
    return answer(200, { type: "end", execution_count: 1 });
  });
  expect((await runCode(call, sandbox, wanted)).executionCount).toBe(1);
  const execute = "/v1/contexts/mcp-python-main/execute";
  expect(asked).toEqual([execute, "/v1/contexts", execute, "/v1/contexts", execute]);
});
