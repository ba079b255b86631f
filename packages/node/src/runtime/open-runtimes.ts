import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { findProgram } from "../system/find-program.ts";
import { tryCommand } from "../system/run-command.ts";
import { builtProgram, programName } from "./built-program.ts";
import { type ChosenRuntimes, chooseRuntimes, type RuntimePolicy } from "./choose-runtimes.ts";
import type { OciRuntime, RuntimeRegistration } from "./oci-runtime.ts";
import { type Trial, type TrialPlace, tryRuntime } from "./probe.ts";
import { type RuntimeProgram, runcRuntime } from "./runc.ts";
import { runcVulnerability } from "./runc-vulnerabilities.ts";
import { keepConnections, runscRuntime } from "./runsc.ts";

export interface Runtimes extends ChosenRuntimes {
  /** The runtimes that work, by the name for `runtimeClassName`. */
  readonly present: ReadonlyMap<string, OciRuntime>;
  /** The runtimes that do not work, with the reason. */
  readonly absent: ReadonlyMap<string, string>;
  /** The runtimes that work but should not be the default, with the reason. */
  readonly flawed: ReadonlyMap<string, string>;
  /** The names of `present` that may start new Pods. The others only manage the containers they already have. */
  readonly usable: readonly string[];
}

export interface RuntimeOptions extends TrialPlace {
  /** In addition to `gvisor` and `runc`, which are found automatically, or in place of them. */
  readonly registrations?: readonly RuntimeRegistration[] | undefined;
  readonly policy?: RuntimePolicy | undefined;
  /** Whether to test each runtime. False to remove Pods, which must work even where no container can start. Default true. */
  readonly tryFirst?: boolean | undefined;
}

/** In order of preference. Our own builds are preferred to the machine's programs. */
function builtIn(): readonly RuntimeRegistration[] {
  return [
    { name: "gvisor", program: builtProgram("runsc") ?? "runsc" },
    { name: "runc", program: builtProgram("runc") ?? "runc" },
  ];
}

/** Finds the runtimes and tests each with one container. A runtime that fails is not used for Pods. */
export async function openRuntimes(options: RuntimeOptions): Promise<Runtimes> {
  const own = builtIn();
  const registered = new Map([...own, ...(options.registrations ?? [])].map((one) => [one.name, one]));
  const tried = await Promise.all([...registered.values()].map((one) => openRuntime(one, options)));
  const present = new Map(tried.flatMap(({ name, runtime }) => (runtime === undefined ? [] : [[name, runtime]])));
  const absent = new Map(tried.flatMap(({ name, failure }) => (failure === undefined ? [] : [[name, failure]])));
  const flawed = new Map(tried.flatMap(({ name, flaw }) => (flaw === undefined ? [] : [[name, flaw]])));
  const usable = [...present.keys()].filter((name) => !absent.has(name));
  const others = [...registered.keys()].filter((name) => !own.some((one) => one.name === name));
  const policy = options.tryFirst === false ? {} : (options.policy ?? {});
  const chosen = chooseRuntimes({ usable, absent, flawed, registered: others }, policy);
  return { present, absent, flawed, usable, ...chosen };
}

interface Tried extends Trial {
  readonly name: string;
  /** Also set for a runtime that must not start new Pods but has containers. */
  readonly runtime?: OciRuntime | undefined;
}

async function openRuntime(
  registration: RuntimeRegistration,
  { runDir, cgroupParent, tryFirst = true }: RuntimeOptions,
): Promise<Tried> {
  const { name } = registration;
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(name)) {
    throw new NodeError("NodeSetup", `Cannot register runtime "${name}": its name is not a valid RuntimeClass name`);
  }
  try {
    const program = await findProgram(registration.program);
    const root = join(runDir, name);
    await mkdir(root, { recursive: true, mode: 0o700 });
    const variants = await variantsOf(registration, { name, program, args: registration.args ?? [], root });
    const [last] = variants.slice(-1);
    const hasContainers = async (): Promise<boolean> => last !== undefined && (await last.list()).length > 0;
    const danger = tryFirst && registration.allowVulnerable !== true ? await vulnerabilityOf(program) : undefined;
    if (danger !== undefined) return { name, failure: danger, ...((await hasContainers()) && { runtime: last }) };
    let trial: Trial = {};
    for (const runtime of variants) {
      trial = tryFirst ? await tryRuntime(runtime, { runDir, cgroupParent }) : {};
      if (trial.failure === undefined) return { name, runtime, ...trial };
    }
    // It is still needed to manage its containers, even if it cannot start new ones now.
    return (await hasContainers()) ? { name, runtime: last } : { name, ...trial };
  } catch (error) {
    return { name, failure: messageOf(error) };
  }
}

/** Only runc has a list of vulnerable versions. */
async function vulnerabilityOf(program: string): Promise<string | undefined> {
  const danger = runcVulnerability((await tryCommand(program, ["--version"])).stdout);
  return danger === undefined ? undefined : `${danger}; "make runc" builds a current one`;
}

/** The variants of using a program, in order of preference. The last works wherever one of them does. */
async function variantsOf({ kind }: RuntimeRegistration, program: RuntimeProgram): Promise<OciRuntime[]> {
  const isRunsc = (kind ?? (programName(program.program).startsWith("runsc") ? "runsc" : "runc")) === "runsc";
  if (!isRunsc) return [runcRuntime(program)];
  const { stdout, stderr } = await tryCommand(program.program, ["flags"]);
  const canSave = `${stdout}${stderr}`.includes(keepConnections.replace(/^-+/, ""));
  const unshare = await findProgram("unshare");
  return [runscRuntime({ ...program, canSave }), runscRuntime({ ...program, canSave, unshare })];
}
