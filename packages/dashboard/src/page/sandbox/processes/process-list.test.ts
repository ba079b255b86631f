import { expect, test } from "vitest";
import { mostProcesses, shownProcesses } from "./process-list.ts";

const startedAt = new Date("2026-01-01T00:00:00Z");
const process = { id: 1, pid: 10, command: ["sleep", "1"], cwd: "/workspace", startedAt };

test("lists running processes first, then the newest", () => {
  const list = [
    { ...process, exit: { exitCode: 0, timedOut: false } },
    { ...process, id: 2, command: ["/bin/sh", "-c", "echo it's"] },
    { ...process, id: 3, exit: { exitCode: -1, signal: 15, timedOut: false } },
    { ...process, id: 4, exit: { exitCode: 2, timedOut: false } },
    { ...process, id: 5, exit: { exitCode: -1, signal: 9, timedOut: true } },
  ];
  expect(shownProcesses(list).map(({ id, command, end, isFailed }) => [id, command, end, isFailed])).toEqual([
    [2, "/bin/sh -c 'echo it'\\''s'", undefined, false],
    [5, "sleep 1", "Timed out", true],
    [4, "sleep 1", "Exit 2", true],
    [3, "sleep 1", "SIGTERM", true],
    [1, "sleep 1", "Exit 0", false],
  ]);
});

test("shows what it can of a process with a wrong form", () => {
  const wrong = { id: 7, pid: "1", command: { join: 1 }, cwd: 5, startedAt: new Date("never"), exit: "x" };
  expect(shownProcesses([null, 1, "x", {}, { id: "1" }, { id: -1 }, wrong])).toEqual([
    { id: 7, pid: 0, command: "", folder: "", startedAt: undefined, end: "Exit 0", isFailed: false },
  ]);
  for (const list of [undefined, null, {}, "x"]) expect(shownProcesses(list)).toEqual([]);
  const words = { ...process, command: ["a", 1, { toString: 1 }, null] };
  expect(shownProcesses([words]).map(({ command }) => command)).toEqual(["a '' '' ''"]);
});

test("limits the number of processes and the length of their texts", () => {
  const list = Array.from({ length: 9000 }, (_, id) => ({ ...process, id, command: ["x".repeat(5000)] }));
  const shown = shownProcesses(list);
  expect([shown.length, shown[0]?.command.length]).toEqual([mostProcesses, 1001]);
  expect(shownProcesses([process, process])).toHaveLength(1);
});
