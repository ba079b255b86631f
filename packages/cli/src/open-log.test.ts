import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const program = `
  import { setTimeout as sleep } from "node:timers/promises";
  import { openLog } from ${JSON.stringify(join(import.meta.dirname, "open-log.ts"))};
  const log = openLog();
  for (let entry = 1; entry <= 3; entry += 1) {
    log.info({ entry }, "written");
    await sleep(20);
  }
  process.exitCode = 3;
`;

function logTo(path: string): { readonly status: number | null; readonly stderr: string } {
  const output = openSync(path, "w");
  try {
    const words = ["--conditions=source", "--input-type=module", "--eval", program];
    return spawnSync(process.execPath, words, { stdio: ["ignore", output, "pipe"], encoding: "utf8", timeout: 20_000 });
  } finally {
    closeSync(output);
  }
}

test("a log on a full disk does not end the program", () => {
  expect(logTo("/dev/full")).toMatchObject({ status: 3, stderr: "" });
});

test("every entry is one line of JSON", () => {
  const folder = mkdtempSync(join(tmpdir(), "open-log-"));
  const path = join(folder, "log");
  expect(logTo(path)).toMatchObject({ status: 3, stderr: "" });
  const entries = readFileSync(path, "utf8").trim().split("\n");
  expect(entries.map((line) => (JSON.parse(line) as { entry: number }).entry)).toEqual([1, 2, 3]);
  rmSync(folder, { recursive: true });
});
