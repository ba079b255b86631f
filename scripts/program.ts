import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build, type Plugin } from "esbuild";
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

/**
 * An `import` of a module of Node evaluates all its exports, also those that Node itself loads on first use. Those that commander
 * imports would take a fifth of the time of `--help`. It needs two functions of them, and some only in cases that do not occur here.
 */
const lazyBuiltins: Plugin = {
  name: "lazy-builtins",
  setup(hooks) {
    hooks.onResolve({ filter: /^node:/ }, ({ path, importer }) =>
      importer.includes("/node_modules/commander/") ? { path, namespace: "lazy-builtin" } : undefined,
    );
    hooks.onLoad({ filter: /.*/, namespace: "lazy-builtin" }, ({ path }) => ({
      contents: `const load = () => process.getBuiltinModule(${JSON.stringify(path)});
        export default ${path === "node:process" ? "process" : "new Proxy({}, { get: (_, name) => load()[name] })"};
        export const EventEmitter = ${path === "node:events" ? "load()" : "undefined"};
        export const stripVTControlCharacters = (text) => load().stripVTControlCharacters(text);`,
    }));
  },
};

/** Bundles a program into `<folder>/lib`, split so that each command loads only what it needs. */
export async function bundleCommandLine(folder: string, main = "packages/cli/src/main.ts"): Promise<Bundle> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main },
    outdir: `${folder}/lib`,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    conditions: ["source"],
    external: [...nativePackages],
    plugins: [lazyBuiltins],
    define: { AGENT_SANDBOX_VERSION: JSON.stringify(version) },
    sourcemap: true,
    metafile: true,
    legalComments: "none",
    outExtension: { ".js": ".mjs" },
    banner: {
      // Most files never call it, and making a real one in each takes a twentieth of the time of a short command.
      js: 'const require = (id) => process.getBuiltinModule("node:module").createRequire(import.meta.url)(id);',
    },
    logLevel: "warning",
  });
  copyFileSync(`${root}/packages/apiserver/src/openapi/${descriptions}`, `${folder}/lib/${descriptions}`);
  const files = new Set([...Object.keys(metafile.outputs).map((path) => basename(path)), descriptions]);
  return { files, inputs: Object.keys(metafile.inputs) };
}

/** The launcher works from any folder: it finds Node beside itself (a release) or in `node_modules` (a clone). */
const launcher = `#!/bin/sh
# A path without a symbolic link needs no other program to find its folder, which saves 3 ms.
case "$0" in
  */*) [ -L "$0" ] && file=$(readlink -f "$0") || file=$0 ;;
  *) file=$(readlink -f "$(command -v "$0")") ;;
esac
here=\${file%/*}
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
case " $* " in
  # The router keeps few objects alive: a small young generation saves a quarter of the memory when many clients stall.
  *" router "*) flags="--max-semi-space-size=8 --enable-source-maps"; export MALLOC_ARENA_MAX=1 ;;
  # A larger young generation halves the number of collections, so fewer responses wait for one.
  *" up "*|*" manager "*) flags="--min-semi-space-size=16 --max-semi-space-size=32 --enable-source-maps" ;;
  # Reading source maps would take longer than most commands, and so would parsing Node's own authorities (see connect.ts).
  *) [ -n "\${NODE_OPTIONS:-}" ] && flags="" || flags="--use-openssl-ca" ;;
esac
exec "$node" $flags --disable-warning=ExperimentalWarning "$here/lib/main.mjs" "$@"
`;

export function writeLauncher(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/agent-sandbox`, launcher);
  chmodSync(`${folder}/agent-sandbox`, 0o755);
}

/** Compiles the daemon that runs inside sandboxes into `<folder>/sandboxd-linux-<architecture>`, as one static file. */
export function buildSandboxd(folder: string, architecture: GoArchitecture): void {
  // Without the state of the repository, the program changes only with its sources.
  const flags = ["-trimpath", "-buildvcs=false", `-ldflags=-s -w -X main.version=${version}`];
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
