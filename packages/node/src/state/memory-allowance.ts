import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Cgroups, childCgroups } from "../system/cgroups.ts";

/** A limit of a cgroup, as it was before. */
export interface FormerLimit {
  readonly file: string;
  readonly value: string;
}

/** Version 1 has no word for "no limit", but a number close to 2^63. */
const unlimited = 2 ** 60;

/**
 * The memory limits of a cgroup and of those below it. The kernel counts a file in memory for the process that writes it: while
 * the sandbox of a Pod writes its checkpoint there, the Pod needs up to twice its memory.
 */
export async function memoryLimits(cgroups: Cgroups, path: string): Promise<readonly FormerLimit[]> {
  const folder = cgroups.controllerFolder("memory", path);
  // In this order when limits grow: the limit with swap must not be below the one without.
  const files = cgroups.version === 2 ? ["memory.max"] : ["memory.memsw.limit_in_bytes", "memory.limit_in_bytes"];
  const own = await Promise.all(
    files.map(async (name) => {
      const file = join(folder, name);
      return { file, value: (await readFile(file, "utf8").catch(() => "")).trim() };
    }),
  );
  const below = await childCgroups(cgroups, path);
  const others = await Promise.all(below.map((name) => memoryLimits(cgroups, `${path}/${name}`)));
  return [...own.filter(({ value }) => isLimit(value)), ...others.flat()];
}

function isLimit(value: string): boolean {
  return /^\d+$/.test(value) && Number(value) < unlimited;
}

export async function raiseLimits(limits: readonly FormerLimit[], bytes: number): Promise<void> {
  for (const { file, value } of limits) await writeFile(file, String(Number(value) + bytes));
}

/** A cgroup that is gone has no limits to restore. */
export async function restoreLimits(limits: readonly FormerLimit[]): Promise<void> {
  for (const { file, value } of limits.toReversed()) await writeFile(file, value).catch(() => undefined);
}
