import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { referencePages } from "./pages.ts";

const root = join(import.meta.dirname, "../..");

test("the reference pages describe the code (else run make generate)", { timeout: 60_000 }, async () => {
  for (const { file, text } of await referencePages()) expect(readFileSync(join(root, file), "utf8")).toBe(text);
});
