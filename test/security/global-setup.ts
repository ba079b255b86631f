import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { whyNoWorld } from "./why-no-world.ts";

/**
 * Starts the world that all files of the suite share, and stops it after the last of them. Files that do not need it
 * do not wait for it.
 */
export default function setup(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-security-"));
  project.provide("securityWorld", join(folder, "world.json"));
  if (whyNoWorld() !== undefined) return () => clear(folder);
  const main = join(import.meta.dirname, "world-process.ts");
  const flags = ["--conditions=source", "--disable-warning=ExperimentalWarning"];
  const world = spawn(process.execPath, [...flags, main, folder], { stdio: ["pipe", "inherit", "inherit"] });
  const ended = once(world, "exit");
  return async () => {
    world.stdin.end();
    await ended;
    await clear(folder);
  };
}

async function clear(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
}
