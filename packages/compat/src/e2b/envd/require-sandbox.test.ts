import type { Sandbox } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import type { Directory } from "../../cluster/directory.ts";
import type { ProcessEvent } from "../../runtime/process-calls.ts";
import { requireSandbox } from "./require-sandbox.ts";

const target = { namespace: "team-a", name: "box", uid: "1", token: "t" };

function check(uid: string | undefined, event: ProcessEvent): void {
  const sandbox = uid === undefined ? undefined : ({ metadata: { name: "box", uid } } as Sandbox);
  const machine = sandbox && { namespace: "team-a", name: "box", claim: undefined, sandbox };
  requireSandbox({ context: { directory: { machine: () => machine } as unknown as Directory }, target }, event);
}

describe("the end of a process whose sandbox", () => {
  test.for([
    ["is gone", undefined],
    ["was replaced", "2"],
  ] as const)("%s is no result if it failed", ([, uid]) => {
    const gone = { code: "unavailable", message: "The sandbox was not found" };
    expect(() => check(uid, { exit: { exitCode: -1, signal: 15 } })).toThrow(expect.objectContaining(gone));
    expect(() => check(uid, { exit: { exitCode: 143 } })).toThrow(expect.objectContaining(gone));
  });
  test.for([
    ["is there, although it failed", "1", { exit: { exitCode: -1, signal: 15 } }],
    ["is gone, but it succeeded", undefined, { exit: {} }],
    ["is gone, but it goes on", undefined, { stdout: "eA==" }],
  ] as const)("%s is shown", ([, uid, event]) => {
    expect(() => check(uid, event)).not.toThrow();
  });
});
