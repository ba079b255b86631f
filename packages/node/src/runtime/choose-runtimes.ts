import { NodeError } from "../errors.ts";

/** What came of looking at the runtimes of this machine. */
export interface FoundRuntimes {
  /** Those that Pods can be started with, in the order of preference. */
  readonly usable: readonly string[];
  /** Those that cannot, with the reason. */
  readonly absent: ReadonlyMap<string, string>;
  /** Those that work, but with a known defect: never the default while there is another. */
  readonly flawed: ReadonlyMap<string, string>;
  /** Those that the operator registered under a name of their own. */
  readonly registered: readonly string[];
}

/** What the operator says about them. */
export interface RuntimePolicy {
  /** The complete list. Default: gVisor and what the operator registered; where gVisor does not work, all. */
  readonly allowed?: readonly string[] | undefined;
  /** Allowed as well. */
  readonly alsoAllowed?: readonly string[] | undefined;
  readonly defaultRuntime?: string | undefined;
}

export interface ChosenRuntimes {
  /** What Pods may use, unless their Namespace says otherwise. */
  readonly allowed: readonly string[];
  /** For Pods that name none. */
  readonly default: string;
}

/** Which runtimes Pods may use, and which one they get. Throws when the operator's settings cannot be kept. */
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

/** Who can have a kernel for each Pod does not share the machine's, unless the operator wants to. */
function allowedByDefault({ usable, flawed, registered }: FoundRuntimes): readonly string[] {
  return usable.includes("gvisor") && !flawed.has("gvisor") ? ["gvisor", ...registered] : usable;
}

function noSuchDefault(found: FoundRuntimes, name: string): NodeError {
  const why = found.usable.includes(name)
    ? "it is not among the allowed runtimes"
    : (found.absent.get(name) ?? known(found));
  return new NodeError("NodeSetup", `Cannot use runtime "${name}" by default: ${why}`);
}

const known = ({ usable, absent }: FoundRuntimes): string => `there are ${[...usable, ...absent.keys()].join(", ")}`;

const reasons = (absent: ReadonlyMap<string, string>): string =>
  [...absent].map(([name, reason]) => `${name}: ${reason}`).join("; ");
