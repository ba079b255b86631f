import { tryCommand } from "../system/run-command.ts";

/** Counting is given up after this time. */
const countWithinMs = 60_000;

/**
 * Disk usage by path. Missing paths are left out, and other filesystems mounted below a path are not counted. Returns
 * undefined when counting times out or is aborted.
 */
export async function countDisk(
  paths: readonly string[],
  what: "bytes" | "inodes" = "bytes",
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, number> | undefined> {
  const unit = what === "bytes" ? "--block-size=1" : "--inodes";
  const args = ["-n", "19", "du", "--summarize", "--one-file-system", unit, "--null", "--files0-from=-"];
  const options = { input: paths.join("\0"), timeoutMs: countWithinMs, ...(signal && { signal }) };
  const printed = await tryCommand("nice", args, options).catch(() => undefined);
  if (printed === undefined) return undefined;
  return new Map(
    printed.stdout.split("\0").flatMap((line): [string, number][] => {
      const tab = line.indexOf("\t");
      return tab < 0 ? [] : [[line.slice(tab + 1), Number(line.slice(0, tab))]];
    }),
  );
}
