import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";
import { version } from "./version.ts";

export type GoArchitecture = "amd64" | "arm64";

const root = `${import.meta.dirname}/..`;

/** Packages with native code. They are not bundled: Node finds them in a `node_modules` folder above `lib`. */
export const nativePackages: readonly string[] = ["@lydell/node-pty", "koffi"];

/** Field descriptions of built-in kinds, which the API server reads when it serves its first OpenAPI document. */
const descriptions = "descriptions.generated.json";

export interface Bundle {
  /** The names of the files that were written to `<folder>/lib`. */
  readonly files: ReadonlySet<string>;
  /** The source files that are part of the bundle, relative to the root of the repository. */
  readonly inputs: readonly string[];
}

/** Bundles the command line into `<folder>/lib`, split so that each command loads only what it needs. */
export async function bundleCommandLine(folder: string): Promise<Bundle> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main: "packages/cli/src/main.ts" },
    outdir: `${folder}/lib`,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    conditions: ["source"],
    external: [...nativePackages],
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
  copyFileSync(`${root}/packages/apiserver/src/openapi/${descriptions}`, `${folder}/lib/${descriptions}`);
  const files = new Set([...Object.keys(metafile.outputs).map((path) => basename(path)), descriptions]);
  return { files, inputs: Object.keys(metafile.inputs) };
}

/** The launcher works from any folder: it finds Node beside itself (a release) or in `node_modules` (a clone). */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
node="$here/node"
[ -x "$node" ] || node="$here/../node_modules/.bin/node"
if [ ! -f "$here/lib/main.mjs" ]; then
  echo "error: $here does not contain lib/main.mjs: copy the whole folder, or make a link to agent-sandbox in it" >&2
  exit 1
fi
if [ ! -x "$node" ]; then
  # The folder was copied out of a clone, without node_modules. The machine's own Node works if it is new enough.
  node=node
  case $(node --version 2>/dev/null) in
    v2[4-9].* | v[3-9][0-9].*) ;;
    *)
      echo "error: $here contains no Node, and this machine has no Node 24 or later: use a release (make release), or make a link to agent-sandbox in its clone" >&2
      exit 1
      ;;
  esac
fi
# Node's compile cache makes every start but the first a third faster.
export NODE_COMPILE_CACHE="\${NODE_COMPILE_CACHE:-\${XDG_CACHE_HOME:-\${HOME:-/root}/.cache}/agent-sandbox/compiled}"
case "\${1:-}" in
  # The router keeps few objects alive: a small young generation saves a quarter of the memory when many clients stall.
  router) memory="--max-semi-space-size=8"; export MALLOC_ARENA_MAX=1 ;;
  # A larger young generation halves the number of collections, so fewer responses wait for one.
  *) memory="--min-semi-space-size=16 --max-semi-space-size=32" ;;
esac
exec "$node" $memory --disable-warning=ExperimentalWarning --enable-source-maps "$here/lib/main.mjs" "$@"
`;

export function writeLauncher(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/agent-sandbox`, launcher);
  chmodSync(`${folder}/agent-sandbox`, 0o755);
}

/** Compiles the daemon that runs inside sandboxes into `<folder>/sandboxd-linux-<architecture>`, as one static file. */
export function buildSandboxd(folder: string, architecture: GoArchitecture): void {
  const flags = ["-trimpath", `-ldflags=-s -w -X main.version=${version}`];
  const output = `${folder}/sandboxd-linux-${architecture}`;
  execFileSync("go", ["build", ...flags, "-o", output, "./cmd/sandboxd"], {
    cwd: `${root}/sandboxd`,
    stdio: "inherit",
    env: {
      ...process.env,
      // The Go that scripts/setup.sh installed is preferred to the machine's.
      PATH: `${root}/.cache/toolchain/go/bin:${process.env["PATH"] ?? ""}`,
      CGO_ENABLED: "0",
      GOOS: "linux",
      GOARCH: architecture,
    },
  });
}
