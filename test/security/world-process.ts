import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildCommandLine } from "../e2e/box.ts";
import { startWorld } from "./start-world.ts";

/**
 * `node world-process.ts <folder>` runs the world that all files of the suite share until its standard input ends. It is a separate
 * process because it enters the network of the machine that it creates.
 */
const [, , folder = ""] = process.argv;

function writeWhole(content: object): void {
  const file = join(folder, "world.json");
  writeFileSync(`${file}.new`, JSON.stringify(content), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

const inputEnd = once(process.stdin.resume(), "end");
try {
  buildCommandLine();
  await using world = await startWorld(folder);
  writeWhole(world.record);
  await inputEnd;
} catch (error) {
  writeWhole({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
