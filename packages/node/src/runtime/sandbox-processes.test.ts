import { expect, test } from "vitest";
import { descendantsOf, parseProcesses } from "./sandbox-processes.ts";

const head = "UID       PID       PPID      PGID      C         TTY       STIME     TIME      CMD";

test("parses the table and ignores other lines", () => {
  const rows = ["0         1         0         1         0         ?         22:18     10ms      sandboxd"];
  rows.push("1000      83        1         82        0         pts/0     22:19     10ms      sh -c 5 6 7");
  expect(parseProcesses(`${head}\n${rows.join("\n")}\n`)).toEqual([
    { pid: 1, parent: 0 },
    { pid: 83, parent: 1 },
  ]);
  expect(parseProcesses("cannot load sandbox: 1 2 3")).toEqual([]);
});

const tree = (...pairs: [number, number][]) => pairs.map(([pid, parent]) => ({ pid, parent }));

test.for([
  ["children and grandchildren", tree([1, 0], [7, 0], [8, 7], [9, 8], [10, 1]), [8, 9]],
  ["no processes of others", tree([1, 0], [7, 0], [8, 1]), []],
  ["none if the table has no process 1", tree([5, 0], [7, 0], [8, 7]), []],
  ["each process once, even with circular parents", tree([1, 0], [7, 8], [8, 7]), [8]],
] as const)("finds %s", ([, processes, expected]) => {
  expect(descendantsOf(7, processes)).toEqual(expected);
});

test("at most 200 processes", () => {
  const many = Array.from({ length: 1000 }, (_, index): [number, number] => [index + 8, 7]);
  expect(descendantsOf(7, tree([1, 0], [7, 0], ...many))).toHaveLength(200);
});
