import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readLabelDomains } from "./label-domains.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "domains-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.for([
  ["a.example", ["a.example"]],
  [" A.Example ,b.example\r\n\nc.example,", ["a.example", "b.example", "c.example"]],
  ["", undefined],
  [" ,\n", undefined],
] as const)("parses %j", async ([text, domains]) => {
  writeFileSync(join(folder, "domains"), text);
  expect(await readLabelDomains(join(folder, "domains"))).toEqual(domains);
});

test("uses the default if the file is missing, and fails if it cannot be read", async () => {
  expect(await readLabelDomains(join(folder, "missing"))).toBeUndefined();
  await expect(readLabelDomains(folder)).rejects.toThrow("Cannot read");
});
