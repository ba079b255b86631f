import {
  applyDefaults,
  type Json,
  prune,
  quickAdmission,
  unknownFields as unknownIn,
  validate,
} from "@agent-sandbox/api/schema";
import type { FieldError } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import { makeOnceOfShared } from "../shared-values.ts";
import { canonicalLeaf } from "./canonical-form.ts";
import type { Schema } from "./definition.ts";

/** Objects here have been copied as JSON on their way in, so they are what the walkers expect. */
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

const typedAdmission = quickAdmission({
  dropsEmpty: true,
  rewrite: (schema) => canonicalLeaf(schema) as ((value: Json) => Json | undefined) | undefined,
  onceForParts,
  partsAreFixed: true,
});
const customAdmission = quickAdmission({ dropsEmpty: false, onceForParts, partsAreFixed: true });

/** Parts of objects are JSON, and what a schema makes of one depends on nothing else. */
function onceForParts(shape: (part: Json) => Json | symbol): (part: Json) => Json | symbol {
  const once = makeOnceOfShared(shape as (part: JsonObject) => Json | symbol);
  return (part) => (isJsonObject(part) ? once(part) : shape(part));
}

/** The object in its stored form when its schema has nothing to say about it; `undefined` when it might have. */
export function quicklyShaped(
  object: ApiObject,
  { schema, typed }: { readonly schema: Schema; readonly typed: boolean },
  old?: ApiObject,
): ApiObject | undefined {
  const options = { uniqueItems: !typed, old: old === undefined ? undefined : json(old) };
  const shaped = (typed ? typedAdmission : customAdmission)(schema, json(object), options);
  return shaped as unknown as ApiObject | undefined;
}
