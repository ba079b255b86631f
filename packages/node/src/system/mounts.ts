import { accessSync, closeSync, constants, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { libc, mountFlags } from "./libc.ts";
import { runCommand } from "./run-command.ts";

/** The mount points at or below a folder, in the order in which they were mounted. */
export async function mountsUnder(folder: string): Promise<string[]> {
  return parseMountPoints(await readFile("/proc/self/mountinfo", "utf8")).filter(
    (point) => point === folder || point.startsWith(`${folder}/`),
  );
}

/** Parses /proc/self/mountinfo, where special characters are octal escapes. */
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
/** The source of mounts that have none, as `mount` shows it. */
const ourName = "agent-sandbox";

export async function mountOverlay(
  target: string,
  layers: { lower: readonly string[]; upper: string; work: string },
): Promise<void> {
  withFolders([layers.upper, layers.work, ...layers.lower], ([upper = -1, work = -1, ...lower]) =>
    mountDescriptors(target, { lower, upper, work }),
  );
}

/** O_PATH. */
const pathOnly = 0o10_000_000;

/** Opens folders while `use` runs. */
export function withFolders<T>(paths: readonly string[], use: (descriptors: number[]) => T): T {
  const open: number[] = [];
  try {
    for (const path of paths) open.push(openSync(path, pathOnly | constants.O_DIRECTORY));
    return use(open);
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}

/** The folders of an overlay by their descriptors. Without `upper` the mount is read-only. */
export interface OverlayDescriptors {
  readonly lower: readonly number[];
  readonly upper?: number;
  readonly work?: number;
}

/** Mounts an overlay by descriptors. /proc/mounts shows layers as they were named, so this hides their paths from containers. */
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

/** When overlayfs cannot create its work folder, it mounts read-only without an error. */
function checkWritable(target: string): void {
  try {
    accessSync(target, constants.W_OK);
  } catch (error) {
    libc().unmount(target);
    throw new Error(`Cannot mount an overlay at "${target}": its work folder cannot be written`, { cause: error });
  }
}

const descriptorPath = (descriptor: number): string => `/proc/self/fd/${descriptor}`;

/** overlayfs needs at least two layers, and an image may have one. */
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
  { sizeBytes, mode, noSwap = false }: { readonly sizeBytes: number; readonly mode: number; readonly noSwap?: boolean },
): void {
  const data = `size=${Math.floor(sizeBytes)},mode=${mode.toString(8)}${noSwap ? ",noswap" : ""}`;
  libc().mount(ourName, target, { type: "tmpfs", flags: noDevices | noSetuid, data });
}

/** Bind-mounts the file or folder of an open descriptor, even if its path has changed since it was opened. */
export async function bindDescriptor(descriptor: number, target: string): Promise<void> {
  libc().mount(descriptorPath(descriptor), target, { flags: bind });
}

/** Like `bindDescriptor`, with the mounts below. Private: otherwise unmounting it would also unmount the machine's mounts. */
export async function bindTree(descriptor: number, target: string): Promise<void> {
  libc().mount(`/proc/self/fd/${descriptor}`, target, { flags: bind | recursive });
  libc().mount(ourName, target, { flags: mountFlags.private | recursive });
}

/**
 * Unmounts lazily, so that processes with open files do not keep the mounts. Uses one command for all mounts, because
 * the system call is slow and would block this thread.
 */
export async function unmount(points: readonly string[]): Promise<void> {
  if (points.length > 0) await runCommand("umount", ["--lazy", "--", ...points.toReversed()]);
}
