import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

/** A hash of the features that the first processor in `/proc/cpuinfo` lists: `flags` on x86, `Features` on ARM. */
export function hashCpuFeatures(cpuinfo: string): string {
  const line = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(cpuinfo)?.[1] ?? "";
  const features = line.split(" ").filter(Boolean).toSorted();
  return createHash("sha256").update(features.join(" ")).digest("hex");
}

let ofThisMachine: Promise<string> | undefined;

/** Read once: the kernel asks every processor when the file is read, which takes a millisecond or more. */
export function readCpuFeatures(): Promise<string> {
  ofThisMachine ??= readFile("/proc/cpuinfo", "utf8").then(hashCpuFeatures);
  return ofThisMachine;
}
