import { expect, test } from "vitest";
import { namePattern } from "./name-pattern.ts";

test.for([
  ["**", ["a", ".b", ""], []],
  ["*.txt", ["a.txt", ".txt"], ["a.txt.gz", "txt"]],
  ["**/*.py", ["a.py"], ["a.js"]],
  ["?.t*t", ["a.txt", "é.tt"], ["ab.txt", "a.tx"]],
  ["[a-c]x[!0-9]", ["axy", "cx_"], ["dxy", "ax5"]],
  ["[]", ["[]"], ["a"]],
  ["*.{js,ts}{,x}", ["a.js", "a.tsx"], ["a.py", "a.jsxx"]],
  ["{a", ["{a"], ["a"]],
  ["", [""], ["a"]],
] as const)("the pattern %j", ([pattern, matching, others]) => {
  const matches = namePattern(pattern);
  expect(matching.filter((name) => !matches(name))).toEqual([]);
  expect(others.filter(matches)).toEqual([]);
});

test("a hostile pattern ends", () => {
  expect(namePattern("*a".repeat(100))("a".repeat(255))).toBe(true);
  expect(namePattern(`${"*a".repeat(100)}b`)("a".repeat(255))).toBe(false);
});

test.for(["a/b", "x".repeat(1025), "{a,b}".repeat(7)])("the pattern %j is refused", (pattern) => {
  expect(() => namePattern(pattern)).toThrow(/^pattern /);
});
