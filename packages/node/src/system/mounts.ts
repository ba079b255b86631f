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

/** Lazily: a process that still holds a file must not keep the mount in the tree. One command for all. */
export async function unmount(points: readonly string[]): Promise<void> {
  if (points.length > 0) await runCommand("umount", ["--lazy", "--", ...points.toReversed()]);
}

/** overlayfs splits its options at commas and layers at colons. */
function escape(path: string): string {
  return path.replaceAll(/[\\:,]/g, (mark) => `\\${mark}`);
}
