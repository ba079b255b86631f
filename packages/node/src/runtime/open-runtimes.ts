import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { findProgram } from "../system/find-program.ts";
import { builtProgram, programName } from "./built-program.ts";
import type { OciRuntime, RuntimeRegistration } from "./oci-runtime.ts";
import { type Trial, type TrialPlace, tryRuntime } from "./probe.ts";
import { type RuntimeProgram, runcRuntime } from "./runc.ts";
import { runscRuntime } from "./runsc.ts";

export interface Runtimes {
  /** What works here, by the name `runtimeClassName` uses. */
  readonly present: ReadonlyMap<string, OciRuntime>;
  /** What does not, with the reason. */
  readonly absent: ReadonlyMap<string, string>;
  /** What works, but should not be a Pod's that does not ask for it, with the reason. */
  readonly flawed: ReadonlyMap<string, string>;
  /** For Pods that name none. */
  readonly default: string;
}

export interface RuntimeOptions extends TrialPlace {
  /** Besides, or in place of, `gvisor` and `runc`, which are found by themselves. */
  readonly registrations?: readonly RuntimeRegistration[] | undefined;
  /** Default: gVisor when it works here as it should, because what runs in a Pod is trusted by nobody; else runc. */
  readonly defaultRuntime?: string | undefined;
  /** Not worth it for taking Pods down, which must go on where nothing can be started any more. Default true. */
  readonly tryFirst?: boolean | undefined;
}

/** In the order in which they are preferred. What the project has built is preferred to the machine's program. */
function builtIn(): readonly RuntimeRegistration[] {
  return [
    { name: "gvisor", program: builtProgram("runsc") ?? "runsc" },
    { name: "runc", program: builtProgram("runc") ?? "runc" },
  ];
}

/** Finds the runtimes and tries each of them once: one that cannot run here must not be given Pods. */
export async function openRuntimes(options: RuntimeOptions): Promise<Runtimes> {
  const registered = new Map([...builtIn(), ...(options.registrations ?? [])].map((one) => [one.name, one]));
  const tried = await Promise.all([...registered.values()].map((one) => openRuntime(one, options)));
  const present = new Map(tried.flatMap(({ name, runtime }) => (runtime === undefined ? [] : [[name, runtime]])));
  const absent = new Map(tried.flatMap(({ name, failure }) => (failure === undefined ? [] : [[name, failure]])));
  const flawed = new Map(tried.flatMap(({ name, flaw }) => (flaw === undefined ? [] : [[name, flaw]])));
  const names = [...present.keys()];
  return { present, absent, flawed, default: chooseDefault(names, { absent, flawed, wanted: options.defaultRuntime }) };
}

export interface DefaultChoice {
  readonly absent: ReadonlyMap<string, string>;
  readonly flawed: ReadonlyMap<string, string>;
  /** What the operator says. */
  readonly wanted: string | undefined;
}

/** The first that is as it should be, else the first. */
export function chooseDefault(present: readonly string[], { absent, flawed, wanted }: DefaultChoice): string {
  const reasons = [...absent].map(([name, reason]) => `${name}: ${reason}`).join("; ");
  const chosen = wanted ?? present.find((name) => !flawed.has(name)) ?? present[0];
  if (chosen === undefined) throw new NodeError("NodeSetup", `Cannot run Pods: no runtime works here (${reasons})`);
  if (present.includes(chosen)) return chosen;
  const why = absent.get(chosen) ?? `there are ${present.join(", ")}`;
  throw new NodeError("NodeSetup", `Cannot use runtime "${chosen}" by default: ${why}`);
}

interface Tried extends Trial {
  readonly name: string;
  readonly runtime?: OciRuntime;
}

async function openRuntime(
  registration: RuntimeRegistration,
  { runDir, cgroupParent, tryFirst = true }: RuntimeOptions,
): Promise<Tried> {
  const { name } = registration;
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(name)) {
    throw new NodeError("NodeSetup", `Cannot register runtime "${name}": its name is no name of a RuntimeClass`);
  }
  try {
    const program = await findProgram(registration.program);
    const root = join(runDir, name);
    await mkdir(root, { recursive: true, mode: 0o700 });
    const variants = await variantsOf(registration, { name, program, args: registration.args ?? [], root });
    let trial: Trial = {};
    for (const runtime of variants) {
      trial = tryFirst ? await tryRuntime(runtime, { runDir, cgroupParent }) : {};
      if (trial.failure === undefined) return { name, runtime, ...trial };
    }
    // Containers of an earlier start need it, whatever may be in its way at the moment.
    const [runtime] = variants.slice(-1);
    return runtime !== undefined && (await runtime.list()).length > 0 ? { name, runtime } : { name, ...trial };
  } catch (error) {
    return { name, failure: messageOf(error) };
  }
}

/** The ways in which a program may be used here; the last works wherever one of them does. */
async function variantsOf({ kind }: RuntimeRegistration, program: RuntimeProgram): Promise<OciRuntime[]> {
  const isRunsc = (kind ?? (programName(program.program).startsWith("runsc") ? "runsc" : "runc")) === "runsc";
  if (!isRunsc) return [runcRuntime(program)];
  return [runscRuntime(program), runscRuntime({ ...program, unshare: await findProgram("unshare") })];
}
