import { accessSync, closeSync, constants, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { libc, mountFlags } from "./libc.ts";
import { runCommand } from "./run-command.ts";

/** Mount points at or below a folder, deepest last. */
export async function mountsUnder(folder: string): Promise<string[]> {
  return parseMountPoints(await readFile("/proc/self/mountinfo", "utf8")).filter(
    (point) => point === folder || point.startsWith(`${folder}/`),
  );
}

/** The kernel writes spaces and the like as three octal digits. */
export function parseMountPoints(mountinfo: string): string[] {
  return mountinfo
    .split("\n")
    .map((line) => line.split(" ")[4])
    .filter((point) => point !== undefined)
    .map((point) =>
      point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    );
}

const { readOnly, noSetuid, noDevices, remount, bind, recursive } = mountFlags;
/** What stands for a source where there is none; `mount` shows it to people. */
const ourName = "agent-sandbox";

export async function mountOverlay(
  target: string,
  layers: { lower: readonly string[]; upper: string; work: string },
): Promise<void> {
  withFolders([layers.upper, layers.work, ...layers.lower], ([upper = -1, work = -1, ...lower]) =>
    mountDescriptors(target, { lower, upper, work }),
  );
}

/** Names folders without opening their content. */
const pathOnly = 0o10_000_000;

/** Descriptors of folders, as long as `use` runs. */
export function withFolders<T>(paths: readonly string[], use: (descriptors: number[]) => T): T {
  const open: number[] = [];
  try {
    for (const path of paths) open.push(openSync(path, pathOnly | constants.O_DIRECTORY));
    return use(open);
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}

/** Folders by their descriptors; without an upper one, the mount cannot be written to. */
export interface OverlayDescriptors {
  readonly lower: readonly number[];
  readonly upper?: number;
  readonly work?: number;
}

/** The kernel shows the layers in /proc/mounts as they were named: by descriptors, nothing is told about their paths. */
export function mountDescriptors(target: string, { lower, upper, work }: OverlayDescriptors): void {
  const below = `lowerdir=${lower.map(descriptorPath).join(":")}`;
  if (upper === undefined || work === undefined) {
    libc().mount(ourName, target, { type: "overlay", flags: readOnly | noDevices | noSetuid, data: below });
  } else {
    const above = `upperdir=${descriptorPath(upper)},workdir=${descriptorPath(work)}`;
    libc().mount(ourName, target, { type: "overlay", flags: noDevices, data: `${below},${above}` });
    checkWritable(target);
  }
}

/** overlayfs mounts read-only, and only the kernel's log says so, where it cannot make its work folder. */
function checkWritable(target: string): void {
  try {
    accessSync(target, constants.W_OK);
  } catch (error) {
    libc().unmount(target);
    throw new Error(`Cannot mount an overlay at "${target}": its work folder cannot be written`, { cause: error });
  }
}

const descriptorPath = (descriptor: number): string => `/proc/self/fd/${descriptor}`;

/** Images have at least one layer; overlayfs wants two. */
export async function mountReadOnlyLayers(target: string, layers: readonly string[]): Promise<void> {
  if (layers.length > 1) withFolders(layers, (lower) => mountDescriptors(target, { lower }));
  else bindReadOnly(layers[0] ?? "", target);
}

export function mountSingleLayer(target: string, descriptor: number): void {
  bindReadOnly(descriptorPath(descriptor), target);
}

function bindReadOnly(source: string, target: string): void {
  libc().mount(source, target, { flags: bind });
  libc().mount(ourName, target, { flags: readOnly | noDevices | noSetuid | remount | bind });
}

export function mountTmpfs(
  target: string,
  { sizeBytes, mode }: { readonly sizeBytes: number; readonly mode: number },
): void {
  const data = `size=${Math.floor(sizeBytes)},mode=${mode.toString(8)}`;
  libc().mount(ourName, target, { type: "tmpfs", flags: noDevices | noSetuid, data });
}

/** Mounts what an open descriptor of this process stands for, whatever has become of the path it was opened by. */
export async function bindDescriptor(descriptor: number, target: string): Promise<void> {
  libc().mount(descriptorPath(descriptor), target, { flags: bind });
}

/** The same with what is mounted below. It is made private: else its end would end the machine's own mounts, too. */
export async function bindTree(descriptor: number, target: string): Promise<void> {
  libc().mount(`/proc/self/fd/${descriptor}`, target, { flags: bind | recursive });
  libc().mount(ourName, target, { flags: mountFlags.private | recursive });
}

/**
 * Lazily: a process that still holds a file must not keep the mount in the tree. By a command, one for all: the kernel
 * takes its time.
 */
export async function unmount(points: readonly string[]): Promise<void> {
  if (points.length > 0) await runCommand("umount", ["--lazy", "--", ...points.toReversed()]);
}
