/** The memory of restored sandboxes. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { detectCgroups } from "../../packages/node/src/system/cgroups.ts";
import { processesIn } from "../node/memory.ts";

const mib = 1024 * 1024;
const pageBytes = 4096;

export interface SandboxMemory {
  /** Proportional set size (PSS) of all processes. */
  readonly pssMib: number;
  /** The part of it that is the memory of the application: gVisor keeps it in a file in memory. */
  readonly applicationMib: number;
}

export async function memoryOf(cgroup: string): Promise<SandboxMemory> {
  const cgroups = await detectCgroups();
  const mappings = processesIn(cgroups.processFolder(cgroup)).flatMap(mappingsOf);
  const sum = (of: readonly Mapping[]): number => of.reduce((total, { pssKib }) => total + pssKib, 0) / 1024;
  return { pssMib: sum(mappings), applicationMib: sum(mappings.filter(({ name }) => name.includes("runsc-memory"))) };
}

interface Mapping {
  readonly name: string;
  readonly pssKib: number;
}

function mappingsOf(pid: number): Mapping[] {
  let name = "";
  return readFileSync(`/proc/${pid}/smaps`, "utf8")
    .split("\n")
    .flatMap((line) => {
      const range = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)$/.exec(line);
      if (range !== null) name = range[1] ?? "";
      const pss = /^Pss: +(\d+) kB/.exec(line)?.[1];
      return pss === undefined ? [] : [{ name, pssKib: Number(pss) }];
    });
}

/** The pages of an image that another image does not contain. */
export function changedMib(image: string, base: string): number {
  const known = new Set(pageDigests(base));
  return (pageDigests(image).filter((page) => !known.has(page)).length * pageBytes) / mib;
}

function pageDigests(image: string): string[] {
  const bytes = readFileSync(join(image, "pages.img"));
  const digests: string[] = [];
  for (let at = 0; at < bytes.length; at += pageBytes)
    digests.push(
      createHash("sha1")
        .update(bytes.subarray(at, at + pageBytes))
        .digest("base64"),
    );
  return digests;
}

/** Memory of the machine that new programs could use, which includes the page cache. */
export function availableMib(): number {
  return Number(/^MemAvailable: +(\d+) kB/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) / 1024;
}
