import { programName } from "./built-program.ts";
import type { OciRuntime } from "./oci-runtime.ts";
import type { Runtimes } from "./open-runtimes.ts";

/** Why untrusted code would run on this machine's kernel. */
export interface SharedKernel {
  readonly reason: "GVisorAbsent" | "GVisorFlawed" | "GVisorNotDefault";
  readonly message: string;
}

/** Runtimes whose containers are processes of this machine. Other runtimes are unknown. */
const withoutOwnKernel: ReadonlySet<string> = new Set(["runc", "crun", "youki"]);

export type Kernel = "own" | "shared";

/** Whether the containers of a runtime have their own kernel; undefined for an unknown program. */
export function kernelOf({ kind, program }: Pick<OciRuntime, "kind" | "program">): Kernel | undefined {
  if (kind === "runsc") return "own";
  return withoutOwnKernel.has(programName(program)) ? "shared" : undefined;
}

/** A warning for the operator if Pods without `runtimeClassName` share the machine's kernel, or undefined. */
export function sharedKernel(
  runtimes: Pick<Runtimes, "present" | "absent" | "flawed" | "default">,
): SharedKernel | undefined {
  const { present, absent, flawed, default: name } = runtimes;
  if (!withoutOwnKernel.has(programName(present.get(name)?.program ?? ""))) return undefined;
  const risk = `Pods without runtimeClassName share this machine's kernel (runtime "${name}"), which is not safe for untrusted code`;
  const [missing, flaw] = [absent.get("gvisor"), flawed.get("gvisor")];
  if (missing !== undefined)
    return { reason: "GVisorAbsent", message: `${risk}: gVisor does not work on this machine: ${missing}` };
  if (flaw !== undefined) return { reason: "GVisorFlawed", message: `${risk}: gVisor is installed, but ${flaw}` };
  return { reason: "GVisorNotDefault", message: `${risk}: gVisor works, but is not the default` };
}
