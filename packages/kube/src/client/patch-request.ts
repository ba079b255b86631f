import type { Patch, Preconditions } from "../client.ts";
import { isReason, KubeError } from "../errors.ts";

const contentTypes = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

export interface PatchRequest {
  readonly contentType: string;
  readonly body: object;
}

/**
 * The wire form of a patch, its preconditions inside: a server refuses a result that carries another uid or
 * resourceVersion than the object. In a JSON patch that takes `add`: a caller could not tell a failed `test` from a bad
 * patch.
 */
export function patchRequest(patch: Patch): PatchRequest {
  return { contentType: contentTypes[patch.type], body: patchBody(patch) };
}

function patchBody(patch: Patch): object {
  if (patch.type === "apply") return patch.body;
  const guards = Object.entries(guardsOf(patch.preconditions));
  if (guards.length === 0) return patch.body;
  if (patch.type === "json") {
    return [...patch.body, ...guards.map(([field, value]) => ({ op: "add", path: `/metadata/${field}`, value }))];
  }
  const metadata = (patch.body as { metadata?: object }).metadata;
  return { ...patch.body, metadata: { ...metadata, ...Object.fromEntries(guards) } };
}

/** Kubernetes calls another uid in a patch an invalid change of an immutable field; to the caller it is a stale base. */
export function asConflict(error: unknown, patch: Patch): unknown {
  const guarded = patch.type !== "apply" && patch.preconditions?.uid !== undefined;
  const isStale =
    guarded && isReason(error, "Invalid") && error.details?.causes?.some(({ field }) => field === "metadata.uid");
  if (!isStale) return error;
  const { message, code, details } = error;
  return new KubeError("Conflict", message, { code, cause: error, ...(details ? { details } : {}) });
}

/** Only the fields that were given: an undefined one must not become a null on the wire. */
export function guardsOf(preconditions: Preconditions | undefined): Preconditions {
  const { uid, resourceVersion } = preconditions ?? {};
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
