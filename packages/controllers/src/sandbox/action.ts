import type { PersistentVolumeClaim, Pod, Service } from "@agent-sandbox/api";

/** The kinds of objects that belong to a Sandbox and are watched. */
export type Child = "volumeClaim" | "pod" | "service";

/** That very object, and at that very version when there is one: what took its name since, or changed, is left alone. */
export interface Target {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** Each action can be carried out on its own, and repeated without harm. */
export type Action =
  | { readonly do: "create"; readonly child: "volumeClaim"; readonly object: PersistentVolumeClaim }
  | { readonly do: "create"; readonly child: "pod"; readonly object: Pod }
  | { readonly do: "create"; readonly child: "service"; readonly object: Service }
  /** A merge patch. */
  | { readonly do: "patch"; readonly child: Child; readonly target: Target; readonly body: object }
  | { readonly do: "delete"; readonly child: Child; readonly target: Target }
  /** Has the Secret with the token of this Sandbox's daemon. */
  | { readonly do: "ensure-token" }
  /** Notes on the Sandbox which Pod is its own; null takes the note away. */
  | { readonly do: "track-pod"; readonly podName: string | null }
  | { readonly do: "delete-sandbox" };

/** Actions that depend on one another: when one fails, the rest of its step is left for the next pass. */
export type Step = Child | "sandbox";

export function stepOf(action: Action): Step {
  switch (action.do) {
    case "ensure-token":
    case "track-pod":
      return "pod";
    case "delete-sandbox":
      return "sandbox";
    default:
      return action.child;
  }
}

/** What is known of an object, as the target of a write. */
export function targetOf(
  { metadata = {} }: { readonly metadata?: { name?: string; uid?: string; resourceVersion?: string } },
  options: { readonly locked: boolean },
): Target {
  const { name = "", uid = "", resourceVersion } = metadata;
  return { name, uid, ...(options.locked && resourceVersion !== undefined && { resourceVersion }) };
}
