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
 * The wire form of a patch with its preconditions: a server rejects a result whose uid or resourceVersion differs from the
 * object's. A JSON patch uses `add` for this, because a failed `test` could not be distinguished from an invalid patch.
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

/** Kubernetes reports a wrong uid in a patch as an invalid change of an immutable field. For the caller it is a conflict. */
export function asConflict(error: unknown, patch: Patch): unknown {
  const guarded = patch.type !== "apply" && patch.preconditions?.uid !== undefined;
  const isStale =
    guarded && isReason(error, "Invalid") && error.details?.causes?.some(({ field }) => field === "metadata.uid");
  if (!isStale) return error;
  const { message, code, details } = error;
  return new KubeError("Conflict", message, { code, cause: error, ...(details ? { details } : {}) });
}

/** Only the fields that are set: an undefined field must not become null on the wire. */
export function guardsOf(preconditions: Preconditions | undefined): Preconditions {
  const { uid, resourceVersion } = preconditions ?? {};
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
