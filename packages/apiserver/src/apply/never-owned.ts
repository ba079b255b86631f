import type { Skip } from "./created-fields.ts";
import { type FieldSet, fieldSetOf, isEmptySet } from "./field-set.ts";
import { field } from "./path-element.ts";

const metadata = [
  "name",
  "namespace",
  "creationTimestamp",
  "selfLink",
  "uid",
  "clusterName",
  "generation",
  "managedFields",
  "resourceVersion",
];

/** What identifies an object or is the server's own: in every configuration or in none, so that owning it says nothing. */
export const neverOwned: FieldSet = fieldSetOf([
  [field("apiVersion")],
  [field("kind")],
  [field("metadata")],
  ...metadata.map((name) => [field("metadata"), field(name)]),
]);

const neverCreated: Skip = {
  apiVersion: true,
  kind: true,
  metadata: Object.fromEntries(metadata.map((name) => [name, true] as const)),
};

const skips = new WeakMap<FieldSet, Skip | undefined>();

/** The same for a creator, with the whole fields that its endpoint does not write; `undefined` when those are parts. */
export function skippedBy(reset: FieldSet): Skip | undefined {
  if (!skips.has(reset)) skips.set(reset, makeSkip(reset));
  return skips.get(reset);
}

function makeSkip(reset: FieldSet): Skip | undefined {
  const skip: Record<string, true | Skip> = { ...neverCreated };
  for (const { element, member, children } of reset.nodes.values()) {
    if (element.by !== "field" || !member || !isEmptySet(children)) return undefined;
    skip[element.name] = true;
  }
  return skip;
}
