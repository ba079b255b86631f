import { applyDefaults, type Json, prune, unknownFields as unknownIn, validate } from "@agent-sandbox/api/schema";
import type { FieldError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Schema } from "./definition.ts";

/** Request bodies were parsed or copied as JSON, so every object is plain JSON. */
const json = (object: ApiObject): Json => object as unknown as Json;

export function unknownFields(object: ApiObject, schema: Schema): readonly string[] {
  return unknownIn(schema, json(object));
}

export function pruned(object: ApiObject, schema: Schema): ApiObject {
  return prune(schema, json(object)) as unknown as ApiObject;
}

export function defaulted(object: ApiObject, schema: Schema): ApiObject {
  return applyDefaults(schema, json(object)) as unknown as ApiObject;
}

/** `typed`: see `ResourceDefinition.typed`. */
export function schemaProblems(
  object: ApiObject,
  { schema, typed }: { readonly schema: Schema; readonly typed: boolean },
  old?: ApiObject,
): readonly FieldError[] {
  const problems = validate(schema, json(object), old === undefined ? {} : { old: json(old) });
  return typed ? problems.filter(({ reason }) => reason !== "FieldValueDuplicate") : problems;
}
