import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { takeLock } from "./file-lock.ts";

const patienceMs = 2000;

/** Makes sure that a data folder has only one node. */
export async function lockInstance(layout: Layout): Promise<AsyncDisposable> {
  const lock = await takeLock(join(layout.dataDir, "lock"), patienceMs);
  if (lock !== undefined) return lock;
  throw new NodeError("NodeSetup", `Cannot use data folder "${layout.dataDir}": another process runs its node`);
}
