import { expect, test } from "vitest";
import { resolvePath } from "./paths.ts";

const surroundings = { workFolder: "/app", home: "/root", variables: { HOME: "/root", A: "x/y", EMPTY: "" } };

test.for([
  ["/etc/passwd", "/etc/passwd"],
  ["a/b", "/app/a/b"],
  ["../a", "/a"],
  ["/../../a", "/a"],
  ["~", "/root"],
  ["~/a", "/root/a"],
  ["~user/a", "/app/~user/a"],
  ["$HOME/a", "/root/a"],
  [`\${A}/$A`, "/app/x/y/x/y"],
  ["/a$NONE/b", "/a/b"],
  ["/a$constructor/b", "/a/b"],
  ["/cost$/5", "/cost$/5"],
  ["/a b\n", "/a b\n"],
] as const)("the path %j", ([path, resolved]) => expect(resolvePath(path, surroundings)).toBe(resolved));

test.for(["", "$EMPTY", "/a\0b", "x".repeat(5000)])("refuses the path %j", (path) => {
  expect(() => resolvePath(path, surroundings)).toThrow(expect.objectContaining({ status: 400 }));
});
