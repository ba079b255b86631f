import { expect, test } from "vitest";
import { readCommand } from "./command-request.ts";

const plain = { cwd: undefined, background: false, timeoutMs: undefined, user: undefined, variables: {} };

test.for([
  [{ command: "ls" }, { ...plain, program: { script: "ls" } }],
  [
    { argv: ["ls", "-l"], command: "" },
    { ...plain, program: { words: ["ls", "-l"] } },
  ],
  [
    { command: "ls", uid: 0, timeout: 0 },
    { ...plain, program: { script: "ls" }, user: "0" },
  ],
  [
    { command: "ls", uid: 5, gid: 6, timeout: 1500, background: true, cwd: "/x", envs: { A: "b" } },
    { program: { script: "ls" }, user: "5:6", timeoutMs: 1500, background: true, cwd: "/x", variables: { A: "b" } },
  ],
] as const)("reads %j", ([body, request]) => expect(readCommand(body)).toEqual(request));

test.for([
  {},
  { command: "" },
  { argv: [] },
  { argv: [1] },
  { command: "ls", argv: ["ls"] },
  { command: 5 },
  { command: "ls", gid: 5 },
  { command: "ls", uid: -1 },
  { command: "ls", uid: 1.5 },
  { command: "ls", uid: "0" },
  { command: "ls", timeout: -1 },
  { command: "ls", timeout: 1e300 },
  { command: "ls", envs: { A: 1 } },
])("refuses %j", (body) => expect(() => readCommand(body)).toThrow(expect.objectContaining({ status: 400 })));
