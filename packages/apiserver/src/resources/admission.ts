import { type ApiError, badRequest, type FieldError, invalid } from "../api-error.ts";
import { type ApiObject, withMetadata } from "../api-object.ts";
import type { Interner } from "../interner.ts";
import { subjectOf, type Target } from "../request/target.ts";
import { canonicalForm } from "./canonical-form.ts";
import type { ResourceDefinition, Schema } from "./definition.ts";
import { metadataProblems, unknownMetadataFields } from "./metadata.ts";
import { QuickAdmission } from "./quick-admission.ts";
import { defaulted, pruned, schemaProblems, unknownFields } from "./schema.ts";
import { toStorage } from "./versions.ts";

export interface Shaped {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

export interface ShapeOptions {
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  /** Fields that the body contains more than once. Default: none. */
  readonly duplicateFields?: readonly string[] | undefined;
  /** Whether the object is the result of a patch, which changes how errors are reported. */
  readonly isPatch?: boolean;
}

/** The largest number of fields that one error message names. */
const maxListed = 20;

/** Prunes, defaults and validates objects on their way to the store. */
export class Admission {
  readonly #quick: QuickAdmission;

  constructor(interner: Interner) {
    this.#quick = new QuickAdmission(interner);
  }

  /**
   * Brings an object of a client into the form of its version: reports and drops unknown fields, sets defaults, and throws
   * `Invalid` for every other mismatch.
   *
   * Most objects have no problem and pass in one walk. The others take the walkers that report problems.
   */
  shape(target: Target, given: ApiObject, options: ShapeOptions, old?: ApiObject): Shaped {
    const { definition, version } = target;
    const { typed } = definition;
    const quick = this.#quick.admit(given, { schema: version.schema, typed }, old);
    const hasUnknown =
      (options.duplicateFields ?? []).length > 0 || unknownMetadataFields({ ...given.metadata }).length > 0;
    if (quick === undefined || hasUnknown) return shapeWithReport(target, given, options, old);
    refuse(target, quick, metadataProblems({ ...quick.metadata }, definition));
    return { object: quick, warnings: [] };
  }

  /** Validates an object in the stored version, so that no other version is a way around its rules. */
  check(target: Target, object: ApiObject, stored: ApiObject | undefined): void {
    const { definition, version } = target;
    // The stored version of the kind may have changed since the object was stored.
    const old = stored === undefined ? undefined : toStorage(definition, stored);
    const [storage] = definition.versions;
    const rules = { schema: storage.schema, typed: definition.typed };
    const isValid = version === storage || this.#quick.admit(object, rules, old) !== undefined;
    const problems = isValid ? [] : schemaProblems(object, rules, old);
    refuse(target, object, [...problems, ...finalizerProblems(object, old), ...(validated(target, object, old) ?? [])]);
  }
}

/** `Admission.shape` for objects that may have problems. */
function shapeWithReport(
  target: Target,
  given: ApiObject,
  { fieldValidation, isPatch = false, duplicateFields = [] }: ShapeOptions,
  old?: ApiObject,
): Shaped {
  const { definition, version } = target;
  const { typed } = definition;
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
  // The schemas of built-in kinds only describe types. kube-apiserver fails to decode an object that does not match them.
  if (typed && !isPatch && misfits.length > 0) throw unreadable(target, listed(misfits));
  refuse(target, object, [...metadataProblems({ ...object.metadata }, definition), ...misfits]);
  return { object, warnings: messages };
}

/** The error for a body that cannot be decoded as the kind of the request. */
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

/** Drops the status of a new object, so that an invalid one is not an error: the server sets the status. */
function creatable({ definition, version }: Target, given: ApiObject): ApiObject {
  if (!version.hasStatus || definition.strategy.keepsStatus === true) return given;
  const { status: _status, ...rest } = given;
  return rest;
}

function unknownIn(object: ApiObject, schema: Schema): string[] {
  return [...unknownMetadataFields({ ...object.metadata }), ...unknownFields(object, schema)];
}

/** Converts an admitted object of any version to the stored version. */
export function toStoredVersion(definition: ResourceDefinition, object: ApiObject): ApiObject {
  const stored = toStorage(definition, object);
  if (stored === object) return object;
  const { schema } = definition.versions[0];
  return defaulted(pruned(stored, schema), schema);
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
  // The rules are those of the stored version, so the error names the group of that version.
  const subject = { ...subjectOf(target, object.metadata.name ?? ""), group: definition.versions[0].group };
  throw invalid(definition.kind, subject, problems);
}

export function withRevision(object: ApiObject, revision: number): ApiObject {
  return withMetadata(object, { resourceVersion: String(revision) });
}
