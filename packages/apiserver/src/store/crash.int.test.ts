import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { systemClock } from "../clock.ts";
import { silentLogger } from "../logger.ts";
import { openStore } from "./open-store.ts";
import type { Store } from "./store.ts";

const rounds = 10;

interface Acknowledged {
  readonly key: string;
  readonly revision: number;
  /** Absent for a deletion. */
  readonly value?: string;
}

/** Lets a process write as fast as it can, kills it after some acknowledged writes, and returns those. */
async function storm(folder: string, killAfter: number): Promise<Acknowledged[]> {
  const script = fileURLToPath(new URL("crash-writer.test.support.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=source", script, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const acknowledged: Acknowledged[] = [];
  const exited = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once("exit", (_code, signal) => resolve(signal)),
  );
  for await (const line of createInterface({ input: child.stdout })) {
    // The last line may be incomplete.
    if (!line.endsWith("}")) continue;
    acknowledged.push(JSON.parse(line) as Acknowledged);
    if (acknowledged.length === killAfter) child.kill("SIGKILL");
  }
  expect(await exited).toBe("SIGKILL");
  return acknowledged;
}

/** Whether a store shows a write or a later one of the same key: unacknowledged writes may have been saved, too. */
function holds(store: Store, { key, revision, value }: Acknowledged): boolean {
  const found = store.get("things", key);
  if (found !== undefined && found.revision > revision) return true;
  if (value === undefined) return found === undefined;
  if (found !== undefined) return found.revision === revision && found.object["value"] === value;
  return store.listAt("things", revision)?.some(({ object }) => object["value"] === value) === true;
}

test("no acknowledged write is lost and no revision is used twice, however often the process is killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "apiserver-crash-"));
  const newest = new Map<string, Acknowledged>();
  let highest = 0;
  for (let round = 0; round < rounds; round += 1) {
    const acknowledged = await storm(folder, 50 + round * 137);
    const lowest = Math.min(...acknowledged.map(({ revision }) => revision));
    expect(lowest).toBeGreaterThan(highest);
    expect(new Set(acknowledged.map(({ revision }) => revision)).size).toBe(acknowledged.length);
    for (const each of acknowledged) {
      if (each.revision > (newest.get(each.key)?.revision ?? 0)) newest.set(each.key, each);
      highest = Math.max(highest, each.revision);
    }
    const store = openStore(folder, { clock: systemClock, logger: silentLogger });
    expect(store.revision).toBeGreaterThanOrEqual(highest);
    const lost = [...newest.values()].filter((each) => !holds(store, each));
    expect(lost).toEqual([]);
    highest = store.revision;
    await store.close();
  }
  rmSync(folder, { recursive: true });
});

test("the lock of a killed process is released", async () => {
  const folder = mkdtempSync(join(tmpdir(), "apiserver-lock-"));
  await storm(folder, 1);
  const store = openStore(folder, { clock: systemClock, logger: silentLogger });
  expect(store.revision).toBeGreaterThan(0);
  await store.close();
  rmSync(folder, { recursive: true });
});
