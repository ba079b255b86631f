import { type FieldSet, fieldSetOf } from "./field-set.ts";
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
