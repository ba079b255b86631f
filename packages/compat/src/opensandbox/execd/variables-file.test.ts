import { expect, test } from "vitest";
import { parseVariables } from "./variables-file.ts";

test.for([
  ["", {}],
  ["A='1'\nB=\"2\"\nC=3\n", { A: "1", B: "2", C: "3" }],
  ["A=1\nA='2'", { A: "2" }],
  [String.raw`A="a\\b\"c\nd\te\r"`, { A: 'a\\b"c\nd\te\r' }],
  [String.raw`A='it'\''s \n'`, { A: "it's \\n" }],
  ["export A='x y'", { A: "x y" }],
  ["A='", { A: "'" }],
  ["A=\n1A=x\nno line\n=x\nA B=c", { A: "" }],
  ["A=b=c", { A: "b=c" }],
  ["A='two \n\n lines'\nB=1", { A: "two \n\n lines", B: "1" }],
  ["A='\n'\nB='open\nC=2", { A: "\n", B: "'open", C: "2" }],
  ["LD_PRELOAD='x'", { LD_PRELOAD: "x" }],
] as const)("the variables of %j", ([text, variables]) => expect(parseVariables(text)).toEqual(variables));

test("a file without the end of a value takes no quadratic time", () => {
  expect(parseVariables("A='x\n".repeat(100_000))).toEqual({ A: "'x" });
});
