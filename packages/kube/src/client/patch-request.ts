import type { Patch, Preconditions } from "../client.ts";

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
 * The wire form of a patch, its preconditions inside. A server that finds another uid or resourceVersion on the object
 * than the patched result carries answers Conflict. In a JSON patch that takes `add`: a failed `test` would be Invalid,
 * which a caller could not tell from a bad patch.
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

/** Only the fields that were given: an undefined one must not become a null on the wire. */
export function guardsOf(preconditions: Preconditions | undefined): Preconditions {
  const { uid, resourceVersion } = preconditions ?? {};
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
