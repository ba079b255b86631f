import { programName } from "./built-program.ts";
import type { OciRuntime } from "./oci-runtime.ts";
import type { Runtimes } from "./open-runtimes.ts";

/** Why code that nobody trusts would run on this machine's own kernel. */
export interface SharedKernel {
  readonly reason: "GVisorAbsent" | "GVisorFlawed" | "GVisorNotDefault";
  readonly message: string;
}

/** Their containers are processes of this machine. Of a runtime that is not among them nothing is said. */
const withoutOwnKernel: ReadonlySet<string> = new Set(["runc", "crun", "youki"]);

export type Kernel = "own" | "shared";

/** Whose kernel the containers of a runtime have; undefined when the program is not known. */
export function kernelOf({ kind, program }: Pick<OciRuntime, "kind" | "program">): Kernel | undefined {
  if (kind === "runsc") return "own";
  return withoutOwnKernel.has(programName(program)) ? "shared" : undefined;
}

/** What an operator must know when Pods that name no runtime share the kernel; undefined when they do not. */
export function sharedKernel(
  runtimes: Pick<Runtimes, "present" | "absent" | "flawed" | "default">,
): SharedKernel | undefined {
  const { present, absent, flawed, default: name } = runtimes;
  if (!withoutOwnKernel.has(programName(present.get(name)?.program ?? ""))) return undefined;
  const said = `Pods that name no runtime share this machine's kernel (runtime "${name}"), which untrusted code should not`;
  const [missing, flaw] = [absent.get("gvisor"), flawed.get("gvisor")];
  if (missing !== undefined)
    return { reason: "GVisorAbsent", message: `${said}: gVisor does not work here: ${missing}` };
  if (flaw !== undefined) return { reason: "GVisorFlawed", message: `${said}: gVisor is here, but ${flaw}` };
  return { reason: "GVisorNotDefault", message: `${said}: gVisor works here, but is not the default` };
}
