import { type ApiError, badRequest, type FieldError, invalid } from "../api-error.ts";
import { type ApiObject, withMetadata } from "../api-object.ts";
import { subjectOf, type Target } from "../request/target.ts";
import { canonicalForm } from "./canonical-form.ts";
import type { ResourceDefinition, Schema } from "./definition.ts";
import { metadataProblems, unknownMetadataFields } from "./metadata.ts";
import { defaulted, pruned, quicklyShaped, schemaProblems, unknownFields } from "./schema.ts";
import { toStorage } from "./versions.ts";

export interface Shaped {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

export interface ShapeOptions {
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  /** Members that were named more than once. Default: none. */
  readonly duplicateFields?: readonly string[] | undefined;
  /** Whether the object came out of a patch: then what is wrong with it makes the patch invalid. */
  readonly isPatch?: boolean;
}

/** Names of fields given in one answer. */
const maxListed = 20;

/**
 * Brings what a client sent into the shape of its version: unknown fields are reported and dropped, defaults filled in,
 * everything else that does not fit is an `Invalid` error.
 */
export function admitShape(
  target: Target,
  given: ApiObject,
  { fieldValidation, isPatch = false, duplicateFields = [] }: ShapeOptions,
  old?: ApiObject,
): Shaped {
  const { definition, version } = target;
  const { typed } = definition;
  const quick = quicklyShaped(given, { schema: version.schema, typed }, old);
  if (
    quick !== undefined &&
    duplicateFields.length === 0 &&
    unknownMetadataFields({ ...given.metadata }).length === 0
  ) {
    refuse(target, quick, metadataProblems({ ...quick.metadata }, definition));
    return { object: quick, warnings: [] };
  }
  const unknown = fieldValidation === "Ignore" ? [] : unknownIn(given, version.schema);
  const messages = [
    ...duplicateFields.map((field) => `duplicate field "${field}"`),
    ...unknown.slice(0, maxListed).map((field) => `unknown field "${field}"`),
  ];
  if (fieldValidation === "Strict" && messages.length > 0) {
    const why = `strict decoding error: ${messages.join(", ")}`;
    if (isPatch)
      refuse(target, given, [{ field: "patch", reason: "FieldValueInvalid", message: `Invalid value: ${why}` }]);
    throw unreadable(target, why);
  }
  const known = pruned(old === undefined ? creatable(target, given) : given, version.schema);
  const canonical = typed ? canonicalForm(version.schema, known) : { value: known, problems: [] };
  const object = defaulted(canonical.value, version.schema);
  const misfits = [...canonical.problems, ...schemaProblems(object, { schema: version.schema, typed }, old)];
  // The schemas of built-in kinds say how values are written, and nothing else: what breaks them could not be read.
  if (typed && !isPatch && misfits.length > 0) throw unreadable(target, listed(misfits));
  refuse(target, object, [...metadataProblems({ ...object.metadata }, definition), ...misfits]);
  return { object, warnings: messages };
}

/** What a client sent is not an object of the kind it is meant to be. */
export function unreadable(
  { definition: { kind }, version }: Pick<Target, "definition" | "version">,
  why: string,
): ApiError {
  return badRequest(`${kind} in version "${version.version}" cannot be handled as a ${kind}: ${why}`);
}

const listed = (problems: readonly FieldError[]): string =>
  problems
    .slice(0, maxListed)
    .map(({ field, message }) => `${field}: ${message}`)
    .join(", ");

/** A new object has no status but the one the server gives it: a wrong one does no harm. */
function creatable({ definition, version }: Target, given: ApiObject): ApiObject {
  if (!version.hasStatus || definition.strategy.keepsStatus === true) return given;
  const { status: _status, ...rest } = given;
  return rest;
}

function unknownIn(object: ApiObject, schema: Schema): string[] {
  return [...unknownMetadataFields({ ...object.metadata }), ...unknownFields(object, schema)];
}

/** Brings an object of any version, already in shape, into the stored one. */
export function settle(definition: ResourceDefinition, object: ApiObject): ApiObject {
  const stored = toStorage(definition, object);
  if (stored === object) return object;
  const { schema } = definition.versions[0];
  return defaulted(pruned(stored, schema), schema);
}

/** Checks an object as it is about to be stored, so that no version is a way around the rules of another. */
export function checkStored(target: Target, object: ApiObject, stored: ApiObject | undefined): void {
  const { definition, version } = target;
  // The stored version may be another one than when the object was stored.
  const old = stored === undefined ? undefined : toStorage(definition, stored);
  const [storage] = definition.versions;
  const { typed } = definition;
  const rules = { schema: storage.schema, typed };
  const isInOrder = version === storage || quicklyShaped(object, rules, old) !== undefined;
  const problems = isInOrder ? [] : schemaProblems(object, rules, old);
  refuse(target, object, [...problems, ...finalizerProblems(object, old), ...(validated(target, object, old) ?? [])]);
}

function validated(
  { definition: { strategy }, version, subresource = "" }: Target,
  object: ApiObject,
  old: ApiObject | undefined,
): readonly FieldError[] | undefined {
  const part = strategy.parts?.get(subresource);
  if (part !== undefined && old !== undefined) return part.validate(object, old);
  return strategy.validate?.(object, old, version.apiVersion);
}

function finalizerProblems(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  if (old?.metadata.deletionTimestamp === undefined) return [];
  const had = new Set(old.metadata.finalizers);
  const added = (object.metadata.finalizers ?? []).filter((each) => !had.has(each));
  if (added.length === 0) return [];
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`;
  return [{ field: "metadata.finalizers", reason: "FieldValueForbidden", message }];
}

function refuse(target: Target, object: ApiObject, problems: readonly FieldError[]): void {
  if (problems.length === 0) return;
  const { definition } = target;
  // Rules are those of the stored kind, and so is the group that they are told for.
  const subject = { ...subjectOf(target, object.metadata.name ?? ""), group: definition.versions[0].group };
  throw invalid(definition.kind, subject, problems);
}

export function stamped(object: ApiObject, revision: number): ApiObject {
  return withMetadata(object, { resourceVersion: String(revision) });
}
