import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

interface Locked {
  readonly version: string;
  readonly integrity: string;
}

/**
 * The folder of an npm package that `package-lock.json` pins. npm installs only the packages of this machine's
 * architecture; others are fetched into `.cache/npm` and checked against the lock file.
 */
export function npmPackageFolder(name: string): string {
  const installed = `${root}/node_modules/${name}`;
  if (existsSync(`${installed}/package.json`)) return installed;
  const { packages } = JSON.parse(readFileSync(`${root}/package-lock.json`, "utf8")) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const locked = packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`Cannot find npm package "${name}": package-lock.json does not contain it`);
  return fetchedPackageFolder(name, locked);
}

/** The folder of a package that is not installed. It is fetched once, and checked. */
export function fetchedPackageFolder(name: string, locked: Locked): string {
  const folder = `${root}/.cache/npm/${name.replace("/", "+")}@${locked.version}`;
  if (!existsSync(folder)) fetchPackage(name, locked, folder);
  return folder;
}

function fetchPackage(name: string, { version, integrity }: Locked, folder: string): void {
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  const answer = execFileSync("npm", ["pack", "--json", "--pack-destination", partial, `${name}@${version}`], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const archive = `${partial}/${packedFile(answer)}`;
  const problem = integrityProblem(readFileSync(archive), integrity);
  if (problem !== undefined) throw new Error(`Cannot use npm package "${name}": ${problem}`);
  execFileSync("tar", ["--extract", "--file", archive, "--directory", partial, "--strip-components=1"]);
  rmSync(archive);
  renameSync(partial, folder);
}

/** Why an archive is not the one that the lock file names, or undefined. Only SHA-512 is accepted. */
export function integrityProblem(archive: Buffer, integrity: string): string | undefined {
  const found = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  return found === integrity ? undefined : `its checksum is ${found}, package-lock.json wants ${integrity}`;
}

/** `npm pack --json` prints an array up to npm 11 and an object by package name after that. */
function packedFile(answer: string): string {
  const packed = Object.values(JSON.parse(answer) as Record<string, { filename: string }>)[0];
  if (packed === undefined) throw new Error(`Cannot read what npm pack printed: ${answer}`);
  return packed.filename.replace("@", "").replace("/", "-");
}
