import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { GoArchitecture } from "../program.ts";

/** What Node is linked with, and the authorities that sign certificates of registries and collectors. */
const packages = ["libc6", "libgcc-s1", "libstdc++6", "libatomic1", "ca-certificates"];

export interface DebianFiles {
  /** The extracted packages. */
  readonly folder: string;
  /** As in `libc6_2.36-9+deb12u14_amd64`. */
  readonly packages: readonly string[];
}

/**
 * Downloads the packages of an architecture with the sources of this machine and extracts them. Later calls use the same files, unless
 * FRESH=1 is set. The machine's own package lists are not changed.
 */
export function debianFiles(architecture: GoArchitecture): DebianFiles {
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "agent-sandbox");
  const target = join(cache, `operator-packages-${architecture}`);
  if (!existsSync(target) || process.env["FRESH"] === "1") download(architecture, target);
  const archives = readdirSync(join(target, "archives")).filter((name) => name.endsWith(".deb"));
  return { folder: join(target, "files"), packages: archives.map((name) => name.slice(0, -".deb".length)).sort() };
}

function download(architecture: GoArchitecture, target: string): void {
  const partial = `${target}.${process.pid}`;
  const [archives, files, apt] = ["archives", "files", "apt"].map((name) => join(partial, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [archives, files, `${apt}/lists/partial`, `${apt}/cache/archives/partial`]) {
    mkdirSync(folder, { recursive: true });
  }
  writeFileSync(`${apt}/status`, "");
  const settings = {
    "Dir::State": apt,
    "Dir::State::status": `${apt}/status`,
    "Dir::Cache": `${apt}/cache`,
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "APT::Sandbox::User": "root",
  };
  const options = ["-qq", ...Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`])];
  try {
    execFileSync("apt-get", [...options, "update"], { stdio: ["ignore", "ignore", "inherit"] });
    execFileSync("apt-get", [...options, "download", ...packages], {
      cwd: archives,
      stdio: ["ignore", "ignore", "inherit"],
    });
    for (const name of readdirSync(archives)) execFileSync("dpkg-deb", ["--extract", join(archives, name), files]);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw new Error(
      `Cannot fetch the Debian packages of ${architecture}: apt-get and dpkg-deb are needed, and a source with bookworm or newer`,
      { cause: error },
    );
  }
  rmSync(apt, { recursive: true });
  rmSync(target, { recursive: true, force: true });
  renameSync(partial, target);
}
