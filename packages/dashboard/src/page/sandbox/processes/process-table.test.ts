import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { parseProcessTable, script } from "./process-table.ts";

test("reads the processes of this machine", () => {
  const table = parseProcessTable(execFileSync("sh", ["-c", script], { encoding: "utf8" }));
  const first = table.find(({ pid }) => pid === 1);
  expect(first).toMatchObject({ pid: 1, parent: 0, state: expect.stringMatching(/^[A-Z]$/) as string });
  expect(table.every(({ command }) => command !== "")).toBe(true);
});

test("reads arguments, names in brackets, and names with brackets and spaces", () => {
  const output = [
    "12 (python3) S 1 12 12\tpython3 -m http.server ",
    "3 (a) b (c) R 2 3\t",
    "4 (kthreadd) Z 0\t",
    "",
  ].join("\n");
  expect(parseProcessTable(output)).toEqual([
    { pid: 3, parent: 2, state: "R", command: "[a) b (c]" },
    { pid: 4, parent: 0, state: "Z", command: "[kthreadd]" },
    { pid: 12, parent: 1, state: "S", command: "python3 -m http.server" },
  ]);
});

test("leaves out lines that are not processes, and bounds what it keeps", () => {
  const lines = ["x", "(", ")(", "-1 (a) S 1\ta", "1e9 (a) S 1\ta", "99999999999 (a) S 1\ta", "7 (a) <img> x\tb"];
  expect(parseProcessTable(lines.join("\n"))).toEqual([{ pid: 7, parent: 0, state: "?", command: "b" }]);
  const many = Array.from({ length: 2000 }, (_, pid) => `${pid} (a) S 1\t${"x".repeat(3000)}`);
  const table = parseProcessTable(many.join("\n"));
  expect([table.length, table[0]?.command.length]).toEqual([500, 1001]);
});
