import { builtProgram } from "../runtime/built-program.ts";
import { findProgram } from "../system/find-program.ts";

/** Why this machine cannot run Pods, or undefined. */
export async function whyNoPods(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "it needs root";
  for (const name of [builtProgram("runc") ?? "runc", "conmon", "ip", "nft"]) {
    try {
      await findProgram(name);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return undefined;
}
