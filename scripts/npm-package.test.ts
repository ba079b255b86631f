import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { integrityProblem, npmPackageFolder } from "./npm-package.ts";

const archive = Buffer.from("content");
const sum = (algorithm: string): string => `${algorithm}-${createHash(algorithm).update(archive).digest("base64")}`;

test("accepts an archive with the checksum of the lock file", () => {
  expect(integrityProblem(archive, sum("sha512"))).toBeUndefined();
});

test.for([
  ["another archive", Buffer.from("other"), sum("sha512")],
  ["a weaker checksum", archive, sum("sha1")],
  ["an empty checksum", archive, ""],
] as const)("rejects %s", ([, content, integrity]) => {
  expect(integrityProblem(content, integrity)).toContain("package-lock.json wants");
});

test("rejects a package that the lock file does not contain", () => {
  expect(() => npmPackageFolder("no-such-package")).toThrow('Cannot find npm package "no-such-package"');
});
