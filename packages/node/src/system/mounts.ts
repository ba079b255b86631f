import { readFile } from "node:fs/promises";
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

export async function mountOverlay(
  target: string,
  layers: { lower: readonly string[]; upper: string; work: string },
): Promise<void> {
  const options = `lowerdir=${layers.lower.map(escape).join(":")},upperdir=${escape(layers.upper)},workdir=${escape(layers.work)}`;
  await runCommand("mount", ["-t", "overlay", "agent-sandbox", "-o", `${options},nodev`, target]);
}

/** Images have at least one layer; overlayfs wants two. */
export async function mountReadOnlyLayers(target: string, layers: readonly string[]): Promise<void> {
  const [only] = layers;
  if (layers.length > 1) {
    const options = `lowerdir=${layers.map(escape).join(":")},ro,nodev,nosuid`;
    await runCommand("mount", ["-t", "overlay", "agent-sandbox", "-o", options, target]);
  } else {
    await runCommand("mount", ["--bind", only ?? "", target]);
    await runCommand("mount", ["-o", "remount,bind,ro,nodev,nosuid", target]);
  }
}

export async function mountTmpfs(
  target: string,
  { sizeBytes, mode }: { readonly sizeBytes: number; readonly mode: number },
): Promise<void> {
  const options = `size=${Math.floor(sizeBytes)},mode=${mode.toString(8)},nodev,nosuid`;
  await runCommand("mount", ["-t", "tmpfs", "agent-sandbox", "-o", options, target]);
}

/** Mounts what an open descriptor of this process stands for, whatever has become of the path it was opened by. */
export async function bindDescriptor(descriptor: number, target: string): Promise<void> {
  await runCommand("mount", ["--no-canonicalize", "--bind", `/proc/${process.pid}/fd/${descriptor}`, target]);
}

/** Lazily: a process that still holds a file must not keep the mount in the tree. One command for all. */
export async function unmount(points: readonly string[]): Promise<void> {
  if (points.length > 0) await runCommand("umount", ["--lazy", "--", ...points.toReversed()]);
}

/** overlayfs splits its options at commas and layers at colons. */
function escape(path: string): string {
  return path.replaceAll(/[\\:,]/g, (mark) => `\\${mark}`);
}
