import { expect, test } from "vitest";
import { nameFrom } from "./snapshot-archive.ts";

test.for([
  ["before.snapshot.tar", "before"],
  ["backups/web-20260905-143000.tar", "web-20260905-143000"],
  ["web", "web"],
] as const)("the snapshot in %s is called %s", ([file, name]) => {
  expect(nameFrom(file)).toBe(name);
});

test.for(["-", "Web.tar", ".tar", "a b.tar"])("the name cannot be derived from %j", (file) => {
  expect(() => nameFrom(file)).toThrow("use --name");
});
