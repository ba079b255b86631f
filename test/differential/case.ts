/** The kubectl of the servers' own release, or the older one that Debian ships. */
export type KubectlRelease = "same" | "older";

export interface KubectlStep {
  readonly kubectl: readonly string[];
  /** Given as it is, or as JSON. */
  readonly stdin?: string | object;
  readonly env?: { readonly [name: string]: string };
  /** Whose kubeconfig. Default: the administrator's. */
  readonly as?: "admin" | "visitor" | "stranger" | "nobody";
  /** Runs until this many lines are printed, and while these steps happen, which start after its first line. */
  readonly until?: { readonly lines: number; readonly meanwhile: readonly Step[] };
  /** Compares every line by itself: one server may print more of them. */
  readonly byLine?: boolean;
}

export interface ExchangeStep {
  readonly method: string;
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  /** An object goes as JSON, a string as it is. */
  readonly body?: unknown;
  /** What to keep of the answer's body for later steps, by dotted path: `{{rv}}` stands for what was kept as "rv". */
  readonly save?: { readonly [name: string]: string };
  /** Until the answer has this status; what a controller does takes a moment. Bounded. */
  readonly retryUntil?: number;
}

export type Step = KubectlStep | ExchangeStep;

/** The same steps against both servers, each in a namespace of the case's own whose name is `{{ns}}`. */
export interface Case {
  readonly name: string;
  readonly steps: readonly Step[];
  /** Compares who owns which field, too. */
  readonly managedFields?: boolean;
  /** Whether the older kubectl knows no such commands. */
  readonly newOnly?: boolean;
}

export function isKubectl(step: Step): step is KubectlStep {
  return "kubectl" in step;
}

export function describeStep(step: Step): string {
  return isKubectl(step) ? `kubectl ${step.kubectl.join(" ")}` : `${step.method} ${step.path}`;
}

/** Puts what is known for `{{name}}` everywhere in a value; an unknown name is a mistake in the case. */
export function fillIn<T>(value: T, known: ReadonlyMap<string, string>): T {
  if (typeof value === "string") {
    return value.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const found = known.get(name);
      if (found === undefined) throw new Error(`Cannot fill in "{{${name}}}": no step before has kept it`);
      return found;
    }) as T;
  }
  if (Array.isArray(value)) return value.map((each) => fillIn(each, known)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [fillIn(key, known), fillIn(each, known)])) as T;
}
