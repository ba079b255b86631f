/**
 * Builds `dist/agent-sandbox` and sandboxd for this machine; with `--all`, sandboxd for every architecture. Quick when
 * nothing has changed.
 */
import { readdirSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { buildSandboxd, bundleCommandLine, type GoArchitecture, writeLauncher } from "./program.ts";

const dist = resolve(import.meta.dirname, "../dist");

/**
 * Bundled files are named after their content, and a running box loads some of them late. Files of earlier builds are
 * therefore kept for a week, in case a box that was started from them still runs.
 */
const keepMs = 7 * 24 * 3_600_000;

function removeOldFiles(current: ReadonlySet<string>): void {
  for (const name of readdirSync(`${dist}/lib`)) {
    const path = `${dist}/lib/${name}`;
    if (!current.has(name) && Date.now() - statSync(path).mtimeMs > keepMs) rmSync(path);
  }
}

const { files } = await bundleCommandLine(dist);
removeOldFiles(files);
writeLauncher(dist);

const ownArchitecture: GoArchitecture = process.arch === "arm64" ? "arm64" : "amd64";
const architectures: readonly GoArchitecture[] = process.argv.includes("--all")
  ? ["amd64", "arm64"]
  : [ownArchitecture];
for (const architecture of architectures) buildSandboxd(dist, architecture);
