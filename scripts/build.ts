import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

/**
 * Bundles the command line with everything of ours into `dist/`, split so that a command loads only what it needs.
 * Packages with native parts stay outside and are found in `node_modules`.
 */
const root = `${import.meta.dirname}/..`;

// Parts are named by their content: those of earlier builds would stay for ever.
rmSync(`${root}/dist/lib`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: { main: "packages/cli/src/main.ts" },
  outdir: "dist/lib",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  conditions: ["source"],
  external: ["@lydell/node-pty", "koffi"],
  sourcemap: true,
  legalComments: "none",
  outExtension: { ".js": ".mjs" },
  banner: {
    js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
  },
  logLevel: "warning",
});

/** The launcher finds the Node that npm carried, wherever the folder was moved to. */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
node="$here/../node_modules/.bin/node"
[ -x "$node" ] || node=node
# What Node compiled is kept for the next start, which then takes two thirds of the time.
export NODE_COMPILE_CACHE="\${NODE_COMPILE_CACHE:-\${XDG_CACHE_HOME:-\${HOME:-/root}/.cache}/agent-sandbox/compiled}"
exec "$node" --disable-warning=ExperimentalWarning --enable-source-maps "$here/lib/main.mjs" "$@"
`;
mkdirSync(`${root}/dist`, { recursive: true });
writeFileSync(`${root}/dist/agent-sandbox`, launcher);
chmodSync(`${root}/dist/agent-sandbox`, 0o755);

const ownArchitecture = process.arch === "arm64" ? "arm64" : "amd64";
const architectures = process.argv.includes("--all") ? ["amd64", "arm64"] : [ownArchitecture];

/** The daemon inside sandboxes: one static file for each kind of machine, quick when nothing changed. */
for (const architecture of architectures) {
  const output = `${root}/dist/sandboxd-linux-${architecture}`;
  execFileSync("go", ["build", "-trimpath", "-ldflags=-s -w", "-o", output, "./cmd/sandboxd"], {
    cwd: `${root}/sandboxd`,
    stdio: "inherit",
    env: { ...process.env, CGO_ENABLED: "0", GOOS: "linux", GOARCH: architecture },
  });
}
