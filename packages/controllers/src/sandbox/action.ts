import type { PersistentVolumeClaim, Pod, SandboxStatus, Service } from "@agent-sandbox/api";

/** The kinds of objects that belong to a Sandbox and are watched. */
export type Child = "volumeClaim" | "pod" | "service";

/** The object of a write, and its version if the write must not hit a newer one. An object that took its name is left alone. */
export interface Target {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** Each action can be performed on its own and is safe to repeat. */
export type Action =
  | { readonly do: "create"; readonly child: "volumeClaim"; readonly object: PersistentVolumeClaim }
  | { readonly do: "create"; readonly child: "pod"; readonly object: Pod }
  | { readonly do: "create"; readonly child: "service"; readonly object: Service }
  /** A merge patch. */
  | { readonly do: "patch"; readonly child: Child; readonly target: Target; readonly body: object }
  /** `atOnce`: without a grace period. */
  | { readonly do: "delete"; readonly child: Child; readonly target: Target; readonly atOnce?: true }
  /** Creates the Secret with the token of the Sandbox's daemon, unless it exists. */
  | { readonly do: "ensure-token" }
  /** Annotates the Sandbox with the name of its Pod; null removes the annotation. */
  | { readonly do: "track-pod"; readonly podName: string | null }
  /** Writes the status in the middle of the pass, because what follows in it depends on what the status says. */
  | { readonly do: "report"; readonly status: SandboxStatus }
  /** A merge patch of the Sandbox, at the version that was observed. */
  | { readonly do: "patch-sandbox"; readonly body: object }
  | { readonly do: "delete-sandbox" };

/** A group of actions that depend on one another: when one fails, the rest of its step is left for the next pass. */
export type Step = Child | "sandbox";

export function stepOf(action: Action): Step {
  switch (action.do) {
    case "ensure-token":
    case "track-pod":
      return "pod";
    case "report":
    case "patch-sandbox":
    case "delete-sandbox":
      return "sandbox";
    default:
      return action.child;
  }
}

export function targetOf(
  { metadata = {} }: { readonly metadata?: { name?: string; uid?: string; resourceVersion?: string } },
  options: { readonly locked: boolean },
): Target {
  const { name = "", uid = "", resourceVersion } = metadata;
  return { name, uid, ...(options.locked && resourceVersion !== undefined && { resourceVersion }) };
}

/** For log lines. */
export function describeAction(action: Action): object {
  switch (action.do) {
    case "create":
      return { do: `create ${action.child}`, name: action.object.metadata?.name };
    case "patch":
    case "delete":
      return { do: `${action.do} ${action.child}`, name: action.target.name };
    default:
      return { do: action.do };
  }
}
