/**
 * Builds `dist/agent-sandbox` and sandboxd for this machine; with `--all`, sandboxd for every architecture. Quick when
 * nothing has changed. With `--if-changed` it does nothing if no source is newer than the last build: tests that run at the
 * same time use the files, and must not find one half written.
 */
import { existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { buildDashboardPage } from "./dashboard-page.ts";
import { newestChange } from "./newest-change.ts";
import { buildSandboxd, bundleCommandLine, type GoArchitecture, writeLauncher } from "./program.ts";

const root = resolve(import.meta.dirname, "..");
const dist = `${root}/dist`;
const sources = ["packages", "sandboxd", "scripts", "package.json", "package-lock.json"].map(
  (path) => `${root}/${path}`,
);
/** Its modification time is when the last build began. */
const stamp = `${dist}/.built`;

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

const isCurrent = (): boolean => existsSync(stamp) && newestChange(sources) < statSync(stamp).mtimeMs;
if (process.argv.includes("--if-changed") && isCurrent()) process.exit();

const startedAt = new Date();
const { files } = await bundleCommandLine(dist);
removeOldFiles(files);
writeLauncher(dist);
await buildDashboardPage(`${dist}/dashboard`);

const ownArchitecture: GoArchitecture = process.arch === "arm64" ? "arm64" : "amd64";
const architectures: readonly GoArchitecture[] = process.argv.includes("--all")
  ? ["amd64", "arm64"]
  : [ownArchitecture];
for (const architecture of architectures) buildSandboxd(dist, architecture);

writeFileSync(stamp, "");
utimesSync(stamp, startedAt, startedAt);
