import { NodeError } from "../errors.ts";

/** The runtimes of this machine. */
export interface FoundRuntimes {
  /** Runtimes that can start Pods, in order of preference. */
  readonly usable: readonly string[];
  /** Runtimes that do not work, with the reason. */
  readonly absent: ReadonlyMap<string, string>;
  /** Runtimes with a known defect, which become the default only if no other works. */
  readonly flawed: ReadonlyMap<string, string>;
  /** Runtimes that the operator registered. */
  readonly registered: readonly string[];
}

/** The operator's settings. */
export interface RuntimePolicy {
  /** All allowed runtimes. Default: gVisor and the registered ones; all runtimes if gVisor does not work. */
  readonly allowed?: readonly string[] | undefined;
  /** Allowed in addition to `allowed`. */
  readonly alsoAllowed?: readonly string[] | undefined;
  readonly defaultRuntime?: string | undefined;
}

export interface ChosenRuntimes {
  /** The runtimes of Pods whose Namespace has no list of its own. */
  readonly allowed: readonly string[];
  /** The runtime of Pods without `runtimeClassName`. */
  readonly default: string;
}

/** Chooses the allowed runtimes and the default. Throws if the operator's settings cannot be satisfied. */
export function chooseRuntimes(found: FoundRuntimes, policy: RuntimePolicy): ChosenRuntimes {
  const { usable, absent, flawed } = found;
  const { alsoAllowed = [], defaultRuntime } = policy;
  for (const name of [...(policy.allowed ?? []), ...alsoAllowed]) {
    if (!usable.includes(name) && !absent.has(name))
      throw new NodeError("NodeSetup", `Cannot allow runtime "${name}": ${known(found)}`);
  }
  const chosenByDefault = policy.allowed === undefined && defaultRuntime !== undefined ? [defaultRuntime] : [];
  const names = new Set([...(policy.allowed ?? allowedByDefault(found)), ...alsoAllowed, ...chosenByDefault]);
  const allowed = usable.filter((name) => names.has(name));
  if (defaultRuntime !== undefined && !allowed.includes(defaultRuntime)) throw noSuchDefault(found, defaultRuntime);
  const chosen = defaultRuntime ?? allowed.find((name) => !flawed.has(name)) ?? allowed[0];
  if (chosen !== undefined) return { allowed, default: chosen };
  const which =
    policy.allowed === undefined ? "no runtime works" : `none of the allowed runtimes (${[...names].join(", ")}) works`;
  throw new NodeError("NodeSetup", `Cannot run Pods: ${which} here (${reasons(absent)})`);
}

/** Where gVisor works, runtimes that share the machine's kernel are allowed only on the operator's request. */
function allowedByDefault({ usable, flawed, registered }: FoundRuntimes): readonly string[] {
  return usable.includes("gvisor") && !flawed.has("gvisor") ? ["gvisor", ...registered] : usable;
}

function noSuchDefault(found: FoundRuntimes, name: string): NodeError {
  const why = found.usable.includes(name)
    ? "it is not among the allowed runtimes"
    : (found.absent.get(name) ?? known(found));
  return new NodeError("NodeSetup", `Cannot use runtime "${name}" by default: ${why}`);
}

const known = ({ usable, absent }: FoundRuntimes): string =>
  `known runtimes are ${[...usable, ...absent.keys()].join(", ")}`;

const reasons = (absent: ReadonlyMap<string, string>): string =>
  [...absent].map(([name, reason]) => `${name}: ${reason}`).join("; ");
