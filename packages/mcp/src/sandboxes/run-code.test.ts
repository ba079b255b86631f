import type { Sandbox } from "@agent-sandbox/sdk";
import { namedServers, type SendHttp } from "@agent-sandbox/sdk/internal";
import { expect, test } from "vitest";
import type { Call } from "../caller.ts";
import { callerOf } from "../connect.ts";
import { runCode } from "./run-code.ts";

const sandbox = { name: "box", namespace: "default", uid: "u" } as unknown as Sandbox;
const wanted = { code: "slow()", language: "python", context: "main", timeoutSeconds: 3600 } as const;

function callTo(...lines: readonly object[]): Call {
  const send: SendHttp = async ({ url }) => {
    const isAsked = new URL(url).searchParams.get("keepalive") === "60";
    return {
      status: 200,
      header: () => undefined,
      body: (async function* () {
        for (const line of isAsked ? lines : []) yield Buffer.from(`${JSON.stringify(line)}\n`);
      })(),
    };
  };
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
