/** The kubectl of the same release as the servers, or the older one of Debian. */
export type KubectlRelease = "same" | "older";

export interface KubectlStep {
  readonly kubectl: readonly string[];
  /** A string is sent unchanged, an object as JSON. */
  readonly stdin?: string | object;
  readonly env?: { readonly [name: string]: string };
  /** The user of the kubeconfig. Default: the administrator. */
  readonly as?: "admin" | "visitor" | "stranger" | "nobody";
  /** Runs until this many lines are printed. The steps run after the first line. */
  readonly until?: { readonly lines: number; readonly meanwhile: readonly Step[] };
  /** Compares lines independently of their order. */
  readonly byLine?: boolean;
}

export interface ExchangeStep {
  readonly method: string;
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  /** A string is sent unchanged, an object as JSON. */
  readonly body?: unknown;
  /** Values of the response body, by dotted path, that later steps use: `{{rv}}` is replaced by the value saved as "rv". */
  readonly save?: { readonly [name: string]: string };
  /** Repeats the request, within a limit, until the response has this status. */
  readonly retryUntil?: number;
}

/** Creates objects by plain requests, which is quicker than `kubectl create`. Fails if the server refuses one. */
export interface SetUpStep {
  /** Manifests in YAML. */
  readonly setUp: string;
}

export type Step = KubectlStep | ExchangeStep | SetUpStep;

/** Steps that run against both servers, in a separate namespace for each case, whose name is `{{ns}}`. */
export interface Case {
  readonly name: string;
  readonly steps: readonly Step[];
  /** Also compares `managedFields`. */
  readonly managedFields?: boolean;
  /** Whether the older kubectl does not have these commands, or sends the same requests for them. */
  readonly newOnly?: boolean;
}

export function isKubectl(step: Step): step is KubectlStep {
  return "kubectl" in step;
}

export function isSetUp(step: Step): step is SetUpStep {
  return "setUp" in step;
}

export function describeStep(step: Step): string {
  if (isSetUp(step)) return "set-up";
  return isKubectl(step) ? `kubectl ${step.kubectl.join(" ")}` : `${step.method} ${step.path}`;
}

/** Replaces every `{{name}}` in a value. Throws for an unknown name. */
export function fillIn<T>(value: T, known: ReadonlyMap<string, string>): T {
  if (typeof value === "string") {
    return value.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const found = known.get(name);
      if (found === undefined) throw new Error(`Cannot fill in "{{${name}}}": no earlier step saved it`);
      return found;
    }) as T;
  }
  if (Array.isArray(value)) return value.map((each) => fillIn(each, known)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [fillIn(key, known), fillIn(each, known)])) as T;
}
