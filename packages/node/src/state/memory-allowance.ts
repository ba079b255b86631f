import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
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

/**
 * Returns the limits that could not be restored: version 1 refuses a limit below what the cgroup uses. A cgroup that is gone has no
 * limits.
 */
export async function restoreLimits(limits: readonly FormerLimit[]): Promise<readonly FormerLimit[]> {
  const left: FormerLimit[] = [];
  for (const limit of limits.toReversed()) {
    await writeFile(limit.file, limit.value).catch((error: unknown) => {
      if (!hasCode(error, "ENOENT", "ENODEV")) left.unshift(limit);
    });
  }
  return left;
}
