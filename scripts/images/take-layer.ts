/**
 * A hook of mmdebstrap: installs the packages of one image in the new system, and writes what that added as a layer.
 *
 *   take-layer.ts <image> <folder for results> <time at which the build started> <root of the new system>
 */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Layer, writeLayer } from "../oci/layer.ts";
import { addedPaths, listTree, type Tree } from "../oci/tree.ts";
import { type ImageSource, readSource } from "./sources.ts";

export interface TakenLayer {
  readonly layer: Layer;
  /** The time of the newest file of a package, in seconds since 1970. */
  readonly newest: number;
  /** As in `curl=7.88.1-10+deb12u8`. */
  readonly packages: readonly string[];
}

/** What only the build needs, what differs from one build to the next, and what belongs to the machine that builds. */
const leftOut: readonly RegExp[] = [
  /^(?:dev|proc|sys|run|tmp|var\/tmp|var\/log|var\/cache\/apt|var\/cache\/ldconfig|var\/lib\/apt\/lists)\/./,
  /^etc\/(?:hostname|machine-id|resolv\.conf|\.pwd\.lock)$/,
  /^etc\/apt\/apt\.conf\.d\/99mmdebstrap$/,
  /^etc\/(?:passwd|group|shadow|gshadow|subuid|subgid)-$/,
  /^var\/(?:lib\/dpkg|cache\/debconf)\/.*(?:-old|lock.*)$/,
  // A third of these packages.
  /^usr\/lib\/python3\/dist-packages\/(?:matplotlib|mpl_toolkits|numpy|pandas|sympy)\/(?:.*\/)?tests$/,
  /^var\/lib\/systemd\/catalog\/database$/,
];

function install(root: string, { packages }: ImageSource): void {
  const settings = [
    "--yes",
    "--quiet",
    "--no-install-recommends",
    `-oDPkg::Chroot-Directory=${root}`,
    "-oDpkg::Use-Pty=0",
  ];
  const env = {
    ...process.env,
    APT_CONFIG: process.env["MMDEBSTRAP_APT_CONFIG"],
    DEBIAN_FRONTEND: "noninteractive",
    DEBCONF_NONINTERACTIVE_SEEN: "true",
  };
  execFileSync("apt-get", ["install", ...settings, ...packages], { env, stdio: ["ignore", "inherit", "inherit"] });
}

function setUp(root: string, { folder }: ImageSource): void {
  const script = join(folder, "set-up.sh");
  if (!existsSync(script)) return;
  execFileSync("chroot", [root, "sh"], { input: readFileSync(script), stdio: ["pipe", "inherit", "inherit"] });
}

/** Files that were written before the build started came out of packages. */
function newestOf(root: string, tree: Tree, started: number): number {
  const times = [...tree.keys()].map((path) => Math.floor(lstatSync(join(root, path)).mtimeMs / 1000));
  return times.reduce((newest, time) => (time < started && time > newest ? time : newest), 0);
}

const [name = "", results = "", started = "", root = ""] = process.argv.slice(2);
const treeFile = (image: string): string => join(results, `${image}.tree.json`);

/** As mmdebstrap's own messages, which the build shows. */
const report = (what: string): void => console.error(`I: ${what} of ${name}...`);

const source = readSource(name);
report("installing the packages");
install(root, source);
setUp(root, source);
report("writing the layer");
const tree = await listTree(root, (path) => leftOut.some((pattern) => pattern.test(path)));
const below =
  source.from === undefined ? [] : (JSON.parse(readFileSync(treeFile(source.from), "utf8")) as [string, string][]);
const newest = newestOf(root, tree, Number(started));
const layer = await writeLayer(
  { root, paths: addedPaths(new Map(below), tree), newest },
  join(results, `${name}.layer`),
);
const listed = execFileSync("dpkg-query", [`--root=${root}`, "--show", "--showformat=${Package}=${Version}\n"], {
  encoding: "utf8",
});
const taken: TakenLayer = { layer, newest, packages: listed.trim().split("\n") };
writeFileSync(treeFile(name), JSON.stringify([...tree]));
writeFileSync(join(results, `${name}.json`), JSON.stringify(taken));
