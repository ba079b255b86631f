/** What keeps a claim from getting its Sandbox, until a person changes something. Told as its Ready condition. */
export interface Problem {
  readonly reason:
    | "TemplateNotFound"
    | "WarmPoolNotFound"
    | "AdoptionConflict"
    | "InvalidMetadata"
    | "EnvVarsInjectionRejected"
    | "VolumeClaimTemplatesError"
    | "ReconcilerError";
  readonly message: string;
}

export type Outcome<T> = { readonly value: T } | { readonly problem: Problem };

/** A mistake that has no reason of its own. */
export function errorSeen(message: string): Problem {
  return { reason: "ReconcilerError", message: `Error seen: ${message}` };
}

/** Fails a pass, and says how to tell of it on the claim. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: Problem;

  constructor(problem: Problem, cause: unknown) {
    super(problem.message, { cause });
    this.problem = problem;
  }
}
