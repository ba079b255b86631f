import { mergePatch, semanticEqual } from "@agent-sandbox/api";
import { isReason, type KubeObject, type Pass, type Resource } from "@agent-sandbox/kube";
import { guardOf, ignoreNotFound, placeOf } from "./guard.ts";

type WithStatus<S> = KubeObject & { readonly status?: S };

/**
 * Patches the status with what differs, at the version that the decision was made on. Returns the answer, or undefined when there is
 * nothing to write or the object is gone.
 */
export async function writeStatus<S extends object, T extends WithStatus<S>>(
  resource: Resource<T>,
  object: T,
  status: S,
  { client, signal, ownWrite }: Pick<Pass, "client" | "signal" | "ownWrite">,
): Promise<T | undefined> {
  if (semanticEqual(object.status, status, ["status"])) return undefined;
  const change = mergePatch(object.status ?? {}, status);
  if (change === undefined) return undefined;
  const patch = { type: "merge", body: { status: change }, preconditions: guardOf(object) } as const;
  return client
    .patch(resource, placeOf(object), patch, { subresource: "status", signal })
    .then((answer) => ownWrite(answer), ignoreNotFound);
}

/** For `catch`: the object has changed since, and the next pass decides on its new version. */
export function ignoreConflict(error: unknown): undefined {
  if (!isReason(error, "Conflict")) throw error;
  return undefined;
}
