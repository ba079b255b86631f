import { expect, test } from "vitest";
import { encodePath } from "./file-path.ts";

test.for([
  ["a/b.txt", "a/b.txt"],
  ["/a/b.txt", "a/b.txt"],
  ["a//b/./c", "a/b/c"],
  ["a/../b", "b"],
  [".", ""],
  ["ü %41?#", "%C3%BC%20%2541%3F%23"],
  ["%2e%2e/x", "%252e%252e/x"],
] as const)("the path %j is %j in a URL", ([path, expected]) => {
  expect(encodePath(path)).toBe(expected);
});

test.for(["..", "../x", "a/../../x", "/../x"])("the path %j leaves the root", (path) => {
  expect(() => encodePath(path)).toThrow(expect.objectContaining({ reason: "Forbidden" }));
});
