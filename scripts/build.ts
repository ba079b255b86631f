import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";
import { version } from "./version.ts";

/**
 * Bundles the command line with everything of ours into `dist/`, split so that a command loads only what it needs.
 * Packages with native parts stay outside and are found in `node_modules`.
 */
const root = `${import.meta.dirname}/..`;

const { metafile } = await build({
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
  define: { AGENT_SANDBOX_VERSION: JSON.stringify(version) },
  sourcemap: true,
  metafile: true,
  legalComments: "none",
  outExtension: { ".js": ".mjs" },
  banner: {
    js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
  },
  logLevel: "warning",
});

/**
 * Parts are named by their content, and a box that runs loads some of them late: those of earlier builds stay for as long
 * as a box may be expected to.
 */
const keepMs = 7 * 24 * 3_600_000;
const made = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
for (const name of readdirSync(`${root}/dist/lib`)) {
  const path = `${root}/dist/lib/${name}`;
  if (!made.has(name) && Date.now() - statSync(path).mtimeMs > keepMs) rmSync(path);
}

/** The launcher finds the Node that npm carried, wherever the folder was moved to. */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
node="$here/../node_modules/.bin/node"
[ -x "$node" ] || node=node
# What Node compiled is kept for the next start, which then takes two thirds of the time.
export NODE_COMPILE_CACHE="\${NODE_COMPILE_CACHE:-\${XDG_CACHE_HOME:-\${HOME:-/root}/.cache}/agent-sandbox/compiled}"
case "\${1:-}" in
  # Passes everything on and keeps nothing: with less room it takes a quarter less memory when many callers stall.
  router) memory="--max-semi-space-size=8"; export MALLOC_ARENA_MAX=1 ;;
  # Room for what lives shortly: the collector comes half as often, and fewer answers wait for it.
  *) memory="--min-semi-space-size=16 --max-semi-space-size=32" ;;
esac
exec "$node" $memory --disable-warning=ExperimentalWarning --enable-source-maps "$here/lib/main.mjs" "$@"
`;
mkdirSync(`${root}/dist`, { recursive: true });
writeFileSync(`${root}/dist/agent-sandbox`, launcher);
chmodSync(`${root}/dist/agent-sandbox`, 0o755);

const ownArchitecture = process.arch === "arm64" ? "arm64" : "amd64";
const architectures = process.argv.includes("--all") ? ["amd64", "arm64"] : [ownArchitecture];

/** The Go that `scripts/setup.sh` installs where the machine has none is preferred. */
const path = `${root}/.cache/toolchain/go/bin:${process.env["PATH"] ?? ""}`;

/** The daemon inside sandboxes: one static file for each kind of machine, quick when nothing changed. */
for (const architecture of architectures) {
  const output = `${root}/dist/sandboxd-linux-${architecture}`;
  execFileSync(
    "go",
    ["build", "-trimpath", `-ldflags=-s -w -X main.version=${version}`, "-o", output, "./cmd/sandboxd"],
    {
      cwd: `${root}/sandboxd`,
      stdio: "inherit",
      env: { ...process.env, PATH: path, CGO_ENABLED: "0", GOOS: "linux", GOARCH: architecture },
    },
  );
}
