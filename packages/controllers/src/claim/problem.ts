/** What keeps a claim from getting its Sandbox until a person changes something. Reported by the Ready condition. */
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

/** A problem without a reason of its own. */
export function errorSeen(message: string): Problem {
  return { reason: "ReconcilerError", message: `Error seen: ${message}` };
}
