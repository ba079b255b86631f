import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { npmPackageFolder } from "../npm-package.ts";
import { buildSandboxd, bundleCommandLine, type GoArchitecture } from "../program.ts";
import type { DebianFiles } from "./debian-packages.ts";

const root = join(import.meta.dirname, "../..");

export interface ArchitectureNames {
  readonly go: GoArchitecture;
  readonly npm: "x64" | "arm64";
  /** The folder of its libraries in Debian. */
  readonly triplet: string;
  /** The program interpreter that ELF files name. */
  readonly loader: string;
}

export const architectures: readonly ArchitectureNames[] = [
  { go: "amd64", npm: "x64", triplet: "x86_64-linux-gnu", loader: "lib64/ld-linux-x86-64.so.2" },
  { go: "arm64", npm: "arm64", triplet: "aarch64-linux-gnu", loader: "lib/ld-linux-aarch64.so.1" },
];

/** `ldd` of Node's binary. A test compares it with the headers of all ELF files in the image. */
const libraries = ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"].concat(
  ["libstdc++.so.6", "libgcc_s.so.1", "libatomic.so.1"],
  // Loaded by name for host names that /etc/hosts does not have.
  ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"],
);

/** The layer below Node: libraries, authorities, the user, and Debian's licences. */
export function makeSystemRoot(folder: string, { triplet, loader }: ArchitectureNames, debian: DebianFiles): void {
  const find = (name: string): string => {
    const found = ["lib", "usr/lib"].map((place) => join(debian.folder, place, triplet, name)).find(existsSync);
    if (found === undefined) throw new Error(`Cannot build the image: the Debian packages contain no ${name}`);
    return realpathSync(found);
  };
  for (const name of libraries) put(folder, `lib/${triplet}/${name}`, readFileSync(find(name)));
  put(folder, loader, readFileSync(find(basename(loader))), 0o755);
  const certificates = globSync("usr/share/ca-certificates/**/*.crt", { cwd: debian.folder }).sort();
  const bundle = certificates.map((name) => readFileSync(join(debian.folder, name), "utf8").trimEnd()).join("\n");
  put(folder, "etc/ssl/certs/ca-certificates.crt", `${bundle}\n`);
  put(folder, "etc/passwd", "nonroot:x:65532:65532::/:/sbin/nologin\n");
  put(folder, "etc/group", "nonroot:x:65532:\n");
  put(folder, "etc/nsswitch.conf", "hosts: files dns\n");
  put(folder, "etc/debian-packages", `${debian.packages.join("\n")}\n`);
  for (const path of globSync("usr/share/doc/*/copyright", { cwd: debian.folder }).sort()) {
    put(folder, path, readFileSync(join(debian.folder, path)));
  }
}

export function makeNodeRoot(folder: string, { npm }: ArchitectureNames): void {
  const source = npmPackageFolder(`node-linux-${npm}`);
  put(folder, "app/node", readFileSync(`${source}/bin/node`), 0o755);
  for (const name of readdirSync(source).filter((file) => /^licen[cs]e/i.test(file))) {
    put(folder, `app/licences/node/${name}`, readFileSync(`${source}/${name}`));
  }
}

/** Manager and router, and the licences of what is in the bundle. The same for all architectures. */
export async function makeProgramRoot(folder: string): Promise<void> {
  mkdirSync(`${folder}/app`, { recursive: true });
  const { inputs } = await bundleCommandLine(`${folder}/app`, "packages/cli/src/cluster-main.ts");
  // Only the API server of the box reads them.
  rmSync(`${folder}/app/lib/descriptions.generated.json`);
  put(folder, "app/licences/LICENSE", readFileSync(`${root}/LICENSE`));
  const bundled = new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
  for (const name of [...bundled].sort()) {
    const source = npmPackageFolder(name);
    for (const file of readdirSync(source).filter((each) => /^(?:licen[cs]e|notice)/i.test(each))) {
      put(folder, `app/licences/${name}/${file}`, readFileSync(`${source}/${file}`));
    }
  }
  for (const path of readdirSync(`${folder}/app/lib`)) chmodSync(`${folder}/app/lib/${path}`, 0o644);
}

/** One file, so that an image volume with it contains nothing else. */
export function makeRuntimeRoot(folder: string, { go }: ArchitectureNames): void {
  mkdirSync(folder, { recursive: true });
  buildSandboxd(folder, go);
  cpSync(`${folder}/sandboxd-linux-${go}`, `${folder}/sandboxd`);
}

function put(folder: string, path: string, content: string | Buffer, mode = 0o644): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  writeFileSync(file, content);
  chmodSync(file, mode);
}
