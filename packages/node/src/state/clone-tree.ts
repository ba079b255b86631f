import { runCommand } from "../system/run-command.ts";

/** The limit of the time for which a Sandbox may stand still while its files are copied. */
const cloneWithinMs = 60_000;

/**
 * Copies a folder that containers have written, with owners, links, special files and the attributes of overlayfs. Links are
 * copied and not followed. Files share their blocks where the filesystem can do that; otherwise they are copied. Mounts below the
 * folder are left out. The target must not exist. After an abort, a part of the copy remains.
 */
export async function cloneTree(source: string, target: string, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const options = ["--archive", "--reflink=auto", "--sparse=auto", "--one-file-system", "--no-target-directory"];
  await runCommand("cp", [...options, "--", source, target], {
    timeoutMs: cloneWithinMs,
    ...(signal && { signal }),
  });
}

/** Replaces the content of a folder. The folder itself stays: it may be a mount, or have a quota. */
export async function refillTree(source: string, target: string): Promise<void> {
  await runCommand("find", [target, "-xdev", "-mindepth", "1", "-delete"], { timeoutMs: cloneWithinMs });
  const options = ["--archive", "--reflink=auto", "--sparse=auto", "--one-file-system"];
  await runCommand("cp", [...options, "--", `${source}/.`, target], { timeoutMs: cloneWithinMs });
}

/** Like `cloneTree`, with hard links to the files: for files that nobody changes. */
export async function linkTree(source: string, target: string): Promise<void> {
  await runCommand("cp", ["--archive", "--link", "--no-target-directory", "--", source, target]);
}

/** Writes everything on the filesystem of a folder to the disk. */
export async function syncTree(folder: string): Promise<void> {
  await runCommand("sync", ["--file-system", "--", folder], { timeoutMs: cloneWithinMs });
}
