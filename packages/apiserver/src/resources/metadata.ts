import { randomUUID } from "node:crypto";
import type { ObjectMeta } from "@agent-sandbox/api";
import type { FieldError } from "../api-error.ts";
import { isJsonObject, type JsonObject } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import type { ResourceDefinition } from "./definition.ts";
import { invalidValue, required, tooLong, typeError } from "./field-problems.ts";
import { labelValueProblems, nameProblems, qualifiedNameProblems } from "./names.ts";

type Meta = Readonly<ObjectMeta>;

/** The metadata that clients can set. That includes `managedFields`, which an empty list resets. */
function owned(metadata: Meta): Meta {
  const { labels, annotations, finalizers, ownerReferences, managedFields } = metadata;
  return {
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(annotations) ? {} : { annotations }),
    ...(isEmpty(finalizers) ? {} : { finalizers }),
    ...(isEmpty(ownerReferences) ? {} : { ownerReferences }),
    ...(managedFields === undefined || managedFields === null ? {} : { managedFields }),
  };
}

const isEmpty = (value: object | undefined | null): boolean =>
  value === undefined || value === null || Object.keys(value).length === 0;

export interface CreatedMetadata {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly nowMs: number;
  readonly hasGeneration: boolean;
}

export function createdMetadata(given: Meta, made: CreatedMetadata): Meta {
  return {
    ...(given.generateName === undefined ? {} : { generateName: given.generateName }),
    name: made.name,
    ...(made.namespace === undefined ? {} : { namespace: made.namespace }),
    uid: randomUUID(),
    creationTimestamp: timestamp(made.nowMs),
    ...(made.hasGeneration ? { generation: 1 } : {}),
    ...owned(given),
  };
}

/** The metadata after an update: fields of the server from the old object, fields of the client from the given one. */
export function updatedMetadata(given: Meta, old: Meta): Meta {
  const {
    labels: _labels,
    annotations: _annotations,
    finalizers: _finalizers,
    ownerReferences: _owners,
    ...kept
  } = old;
  return { ...kept, ...owned(given) };
}

/** Validates metadata of a client, including its types. */
export function metadataProblems(metadata: JsonObject, definition: ResourceDefinition): FieldError[] {
  return [
    ...ownNameProblems(metadata, definition.nameRule),
    ...stringMapProblems(metadata["labels"], "metadata.labels", (key, value) => [
      ...qualifiedNameProblems(key).map((problem) => invalidValue("metadata.labels", key, problem)),
      ...labelValueProblems(value).map((problem) => invalidValue("metadata.labels", value, problem)),
    ]),
    ...stringMapProblems(metadata["annotations"], "metadata.annotations", (key) =>
      qualifiedNameProblems(key.toLowerCase()).map((problem) => invalidValue("metadata.annotations", key, problem)),
    ),
    ...annotationSizeProblems(metadata["annotations"]),
    ...finalizerProblems(metadata["finalizers"], definition.finalizerRule === "standard"),
    ...ownerProblems(metadata["ownerReferences"]),
  ];
}

/** The unknown fields in the metadata of a client. */
export function unknownMetadataFields(metadata: JsonObject): string[] {
  return Object.keys(metadata)
    .filter((key) => !knownFields.has(key))
    .map((key) => `metadata.${key}`);
}

const knownFields = new Set([
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
]);

function ownNameProblems({ name, generateName }: JsonObject, rule: ResourceDefinition["nameRule"]): FieldError[] {
  const field = "metadata.name";
  for (const [key, value] of Object.entries({ name, generateName })) {
    if (value !== undefined && typeof value !== "string") return [typeError(`metadata.${key}`, value, "string")];
  }
  if (name === undefined || name === "") return [required(field, "name or generateName is required")];
  return nameProblems(name as string, rule).map((problem) => invalidValue(field, name, problem));
}

function stringMapProblems(
  map: unknown,
  field: string,
  problemsOf: (key: string, value: string) => FieldError[],
): FieldError[] {
  if (map === undefined || map === null) return [];
  if (!isJsonObject(map)) return [typeError(field, map, "object")];
  return Object.entries(map).flatMap(([key, value]) =>
    typeof value === "string" ? problemsOf(key, value) : [typeError(`${field}[${key}]`, value, "string")],
  );
}

const maxAnnotationBytes = 256 * 1024;

function annotationSizeProblems(annotations: unknown): FieldError[] {
  if (!isJsonObject(annotations)) return [];
  const bytes = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  return bytes <= maxAnnotationBytes ? [] : [tooLong("metadata.annotations", maxAnnotationBytes)];
}

const standardFinalizers = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

/** `strict`: see `ResourceDefinition.finalizerRule`. */
function finalizerProblems(finalizers: unknown, strict: boolean): FieldError[] {
  const field = "metadata.finalizers";
  if (finalizers === undefined || finalizers === null) return [];
  if (!Array.isArray(finalizers)) return [typeError(field, finalizers, "array")];
  return finalizers.flatMap((finalizer: unknown, at) => {
    if (typeof finalizer !== "string") return [typeError(`${field}[${at}]`, finalizer, "string")];
    const unknown = strict && !finalizer.includes("/") && !standardFinalizers.has(finalizer);
    const why = "name is neither a standard finalizer name nor is it fully qualified";
    return [
      ...qualifiedNameProblems(finalizer).map((problem) => invalidValue(field, finalizer, problem)),
      ...(unknown ? [invalidValue(`${field}[${at}]`, finalizer, why)] : []),
    ];
  });
}

function ownerProblems(owners: unknown): FieldError[] {
  const field = "metadata.ownerReferences";
  if (owners === undefined || owners === null) return [];
  if (!Array.isArray(owners)) return [typeError(field, owners, "array")];
  const problems = owners.flatMap((owner: unknown, at) => {
    if (!isJsonObject(owner)) return [typeError(`${field}[${at}]`, owner, "object")];
    return ["apiVersion", "kind", "name", "uid"].flatMap((key) => {
      if (typeof owner[key] === "string" && owner[key] !== "") return [];
      const what = key === "apiVersion" ? "version must not be empty" : "must not be empty";
      return [invalidValue(`${field}.${key}`, owner[key] ?? "", what)];
    });
  });
  const [first, second] = owners.filter(
    (owner: unknown): owner is JsonObject => isJsonObject(owner) && owner["controller"] === true,
  );
  if (first === undefined || second === undefined) return problems;
  const names = [first, second].map(({ kind, name }) => `${String(kind)}/${String(name)}`).join(" and ");
  const why = `Only one reference can have Controller set to true. Found "true" in references for ${names}`;
  return [...problems, invalidValue(field, owners, why)];
}
