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

/** Fields that nobody owns: they identify the object, or only the server sets them. */
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

/**
 * The fields that a creator does not own: those and the fields that the endpoint resets. `undefined` if the endpoint resets
 * only parts of fields.
 */
export function skippedBy(reset: FieldSet): Skip | undefined {
  const skip: Record<string, true | Skip> = { ...neverCreated };
  for (const { element, member, children } of reset.nodes.values()) {
    if (element.by !== "field" || !member || !isEmptySet(children)) return undefined;
    skip[element.name] = true;
  }
  return skip;
}
