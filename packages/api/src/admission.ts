import { crds } from "./crds.ts";
import { applyDefaults } from "./schema/defaults.ts";
import { type FieldError, fieldError } from "./schema/field-error.ts";
import { isObject } from "./schema/json-value.ts";
import { prune } from "./schema/prune.ts";
import type { Json, StructuralSchema } from "./schema/structural-schema.ts";
import { validate } from "./schema/validate.ts";

/** Either the object as the API server would store it, or the reasons why it would reject it. */
export type Admission<T> = { readonly object: T } | { readonly errors: readonly FieldError[] };

/**
 * Prunes, defaults and validates an object of one of our kinds, in the version of its `apiVersion`. `old` is the object
 * that it replaces, in the same version.
 */
export function admit<T extends object>(object: T, old?: T): Admission<T> {
  const schema = schemaFor(object as unknown as Json);
  if (schema === undefined) {
    return { errors: [fieldError("FieldValueInvalid", "kind", { detail: "not a kind and version of agent-sandbox" })] };
  }
  const admitted = applyDefaults(schema, prune(schema, object as unknown as Json));
  const errors = validate(schema, admitted, old === undefined ? {} : { old: old as unknown as Json });
  return errors.length > 0 ? { errors } : { object: admitted as unknown as T };
}

/** Validates an object of one of our kinds after its defaults are filled in. An empty list means that it is valid. */
export function validateObject(object: object, { old }: { readonly old?: object } = {}): readonly FieldError[] {
  const admission = old === undefined ? admit(object) : admit(object, old);
  return "errors" in admission ? admission.errors : [];
}

function schemaFor(object: Json): StructuralSchema | undefined {
  if (!isObject(object)) return undefined;
  return crds
    .filter(({ spec }) => spec.names.kind === object.kind)
    .flatMap(({ spec }) => spec.versions.map((version) => ({ version, apiVersion: `${spec.group}/${version.name}` })))
    .find(({ apiVersion }) => apiVersion === object.apiVersion)?.version.schema?.openAPIV3Schema;
}
