import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import { layoutOf } from "../layout.ts";
import { openRuntimes } from "../runtime/open-runtimes.ts";
import { readSettings } from "../settings.ts";
import { detectCgroups, removeCgroup } from "../system/cgroups.ts";
import { canHaveUsers, tryUsers } from "../users/try-users.ts";
import type { Finding } from "./examine.ts";
import { inScratch } from "./scratch.ts";

const remedy =
  "use a kernel of 6.15 or later, a data folder on a filesystem such as ext4 or xfs, and the runc that `make runc` builds; " +
  "until then root in a container of that runtime has root's id on this machine";

/** Checks user namespaces with each runtime that supports them. */
export async function examineUsers(dataDir: string): Promise<Finding[]> {
  const runDir = await mkdtemp(join(tmpdir(), "doctor-"));
  const cgroupParent = `/agent-sandbox-doctor-users-${process.pid}`;
  try {
    const { runtimes: registrations } = await readSettings(dataDir);
    const { present } = await openRuntimes({ runDir, cgroupParent, registrations, tryFirst: false });
    const candidates = [...present.values()].filter(canHaveUsers);
    return await inScratch(dataDir, async (folder) => {
      const layout = { ...layoutOf(dataDir), runDir, cgroupParent, dataDir: folder };
      return describeUsers(
        new Map(await Promise.all(candidates.map(async (one) => [one.name, await tryUsers(one, layout)] as const))),
      );
    });
  } catch (error) {
    return [{ name: "users", state: "lacking", detail: messageOf(error), remedy }];
  } finally {
    const cgroups = await detectCgroups().catch(() => undefined);
    if (cgroups !== undefined) await removeCgroup(cgroups, cgroupParent);
    await rm(runDir, { recursive: true, force: true });
  }
}

/** `problems` has why user namespaces do not work, by runtime; undefined if they do. */
export function describeUsers(problems: ReadonlyMap<string, string | undefined>): Finding[] {
  return [...problems].map(([runtime, problem]) => {
    const name = `users with ${runtime}`;
    return problem === undefined
      ? { name, state: "ok", detail: "Pods have user namespaces" }
      : { name, state: "lacking", detail: `Pods have no user namespaces: ${problem}`, remedy };
  });
}
