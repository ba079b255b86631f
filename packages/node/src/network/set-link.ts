import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { hasCode } from "../errors.ts";
import { runIp } from "./run-ip.ts";

/** IFF_UP. */
const up = 1;

/**
 * Sets an interface up or down. Does nothing for one that was removed with its Pod. A write to sysfs takes a tenth of the time that
 * a start of `ip` takes, for which a resumed Sandbox would wait. In some containers sysfs is read-only.
 */
export async function setLink(name: string, state: "up" | "down"): Promise<void> {
  const file = `/sys/class/net/${name}/flags`;
  try {
    const flags = Number(readFileSync(file, "utf8"));
    await writeFile(file, `0x${(state === "up" ? flags | up : flags & ~up).toString(16)}`, { flag: "r+" });
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENODEV")) return;
    if (!hasCode(error, "EROFS", "EACCES", "EPERM")) throw error;
    await runIp([`link set ${name} ${state}`]);
  }
}
