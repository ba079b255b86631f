import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { boundCompileCache } from "./compile-cache.ts";

test("empties the cache of compiled modules only when it is larger than the limit", () => {
  const folder = mkdtempSync(join(tmpdir(), "compiled-"));
  try {
    mkdirSync(join(folder, "v26"));
    for (const name of ["a", "b"]) writeFileSync(join(folder, "v26", name), "x".repeat(100));
    boundCompileCache(folder, 200);
    expect(existsSync(join(folder, "v26/a"))).toBe(true);
    boundCompileCache(folder, 199);
    expect(existsSync(folder)).toBe(false);
    boundCompileCache(folder, 199);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
