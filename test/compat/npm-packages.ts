import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../clients/run-command.ts";
import { Unavailable } from "../clients/unavailable.ts";

const pinned = { e2b: "2.51.0", "@e2b/code-interpreter": "2.8.0", "@alibaba-group/opensandbox": "0.1.11" };

const wantsNewest = Boolean(process.env["NEWEST"]);

/** Installs the published packages outside the repository, once on a machine, and returns a function that loads them. `NEWEST=1` replaces their versions unless `isPinned` says otherwise. */
export async function npmPackages(
  versions: Readonly<Record<string, string>> = pinned,
  { isPinned = !wantsNewest }: { readonly isPinned?: boolean } = {},
): Promise<NodeJS.Require> {
  const specs = Object.entries(versions).map(([name, version]) => `${name}@${isPinned ? version : "latest"}`);
  const day = !isPinned ? new Date().toISOString().slice(0, 10) : "";
  const recipe = createHash("sha256")
    .update(JSON.stringify([specs, day]))
    .digest("hex")
    .slice(0, 8);
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "agent-sandbox");
  const target = join(cache, `npm-compat-${recipe}`);
  if (!existsSync(target)) await install(specs, target);
  return createRequire(join(target, "index.js"));
}

/** The folder gets its name when everything is in it. */
async function install(specs: readonly string[], target: string): Promise<void> {
  const draft = `${target}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  writeFileSync(join(draft, "package.json"), '{"private": true}');
  const words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...specs];
  const { code, stderr } = await runCommand("npm", words, { cwd: draft });
  if (code !== 0) {
    rmSync(draft, { recursive: true });
    throw new Unavailable(`the packages are neither cached nor in reach: ${stderr.split("\n")[0]}`);
  }
  if (existsSync(target)) rmSync(draft, { recursive: true });
  else renameSync(draft, target);
}
