import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { findProgram } from "../system/find-program.ts";
import type { OciRuntime, RuntimeRegistration } from "./oci-runtime.ts";
import { whyNotWorking } from "./probe.ts";
import { runcRuntime } from "./runc.ts";
import { runscRuntime } from "./runsc.ts";

export interface Runtimes {
  /** What works here, by the name `runtimeClassName` uses. */
  readonly present: ReadonlyMap<string, OciRuntime>;
  /** What does not, with the reason. */
  readonly absent: ReadonlyMap<string, string>;
  /** For Pods that name none. */
  readonly default: string;
}

export interface RuntimeOptions {
  readonly runDir: string;
  /** Besides, or in place of, `gvisor` and `runc`, which are found by themselves. */
  readonly registrations?: readonly RuntimeRegistration[] | undefined;
  /** Default: gVisor when it works here, because what runs in a Pod is trusted by nobody; else runc. */
  readonly defaultRuntime?: string | undefined;
  /** Not worth it for taking Pods down, which must go on where nothing can be started any more. Default true. */
  readonly tryFirst?: boolean | undefined;
}

const builtIn: readonly RuntimeRegistration[] = [
  { name: "gvisor", program: "runsc" },
  { name: "runc", program: "runc" },
];

/** Finds the runtimes and tries each of them once: one that cannot run here must not be given Pods. */
export async function openRuntimes(options: RuntimeOptions): Promise<Runtimes> {
  const registered = new Map([...builtIn, ...(options.registrations ?? [])].map((one) => [one.name, one]));
  const tried = await Promise.all([...registered.values()].map((one) => openRuntime(one, options)));
  const present = new Map(tried.flatMap(({ name, runtime }) => (runtime === undefined ? [] : [[name, runtime]])));
  const absent = new Map(tried.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason]])));
  return { present, absent, default: chooseDefault([...present.keys()], absent, options.defaultRuntime) };
}

export function chooseDefault(
  present: readonly string[],
  absent: ReadonlyMap<string, string>,
  wanted: string | undefined,
): string {
  const reasons = [...absent].map(([name, reason]) => `${name}: ${reason}`).join("; ");
  const chosen = wanted ?? [...builtIn.map(({ name }) => name), ...present].find((name) => present.includes(name));
  if (chosen === undefined) throw new NodeError("NodeSetup", `Cannot run Pods: no runtime works here (${reasons})`);
  if (present.includes(chosen)) return chosen;
  const why = absent.get(chosen) ?? `there are ${present.join(", ")}`;
  throw new NodeError("NodeSetup", `Cannot use runtime "${chosen}" by default: ${why}`);
}

interface Tried {
  readonly name: string;
  readonly runtime?: OciRuntime;
  readonly reason?: string;
}

async function openRuntime(
  registration: RuntimeRegistration,
  { runDir, tryFirst = true }: RuntimeOptions,
): Promise<Tried> {
  const { name } = registration;
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(name)) {
    throw new NodeError("NodeSetup", `Cannot register runtime "${name}": its name is no name of a RuntimeClass`);
  }
  try {
    const program = await findProgram(registration.program);
    const root = join(runDir, name);
    await mkdir(root, { recursive: true, mode: 0o700 });
    const kind = registration.kind ?? (basename(program).startsWith("runsc") ? "runsc" : "runc");
    const open = kind === "runsc" ? runscRuntime : runcRuntime;
    const runtime = open({ name, program, args: registration.args ?? [], root });
    // With containers of an earlier start it has shown that it works, and they need it.
    const isKnown = !tryFirst || (await runtime.list()).length > 0;
    const reason = isKnown ? undefined : await whyNotWorking(runtime, runDir);
    return reason === undefined ? { name, runtime } : { name, reason };
  } catch (error) {
    return { name, reason: messageOf(error) };
  }
}
