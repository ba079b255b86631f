import { tryCommand } from "../system/run-command.ts";

/** A Pod whose files take longer to count is not counted. */
const countWithinMs = 60_000;

/** By path; what is not there has nothing. Mounts below a path are not counted. Undefined when it takes too long. */
export async function countDisk(
  paths: readonly string[],
  what: "bytes" | "inodes" = "bytes",
): Promise<ReadonlyMap<string, number> | undefined> {
  const unit = what === "bytes" ? "--block-size=1" : "--inodes";
  const args = ["-n", "19", "du", "--summarize", "--one-file-system", unit, "--null", "--files0-from=-"];
  const said = await tryCommand("nice", args, { input: paths.join("\0"), timeoutMs: countWithinMs }).catch(
    () => undefined,
  );
  if (said === undefined) return undefined;
  return new Map(
    said.stdout.split("\0").flatMap((line): [string, number][] => {
      const tab = line.indexOf("\t");
      return tab < 0 ? [] : [[line.slice(tab + 1), Number(line.slice(0, tab))]];
    }),
  );
}
