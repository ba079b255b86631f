import { randomUUID } from "node:crypto";
import type { ObjectMeta } from "@agent-sandbox/api";
import type { FieldError } from "../api-error.ts";
import { isJsonObject, type JsonObject } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import { labelKeyProblem, labelValueProblem } from "../selectors/label-selector.ts";
import type { ResourceDefinition } from "./definition.ts";
import { nameProblem } from "./names.ts";

type Meta = Readonly<ObjectMeta>;

/** The part of the metadata that clients own. */
function owned(metadata: Meta): Meta {
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  return {
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(annotations) ? {} : { annotations }),
    ...(isEmpty(finalizers) ? {} : { finalizers }),
    ...(isEmpty(ownerReferences) ? {} : { ownerReferences }),
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

/** What the server keeps of the old metadata, with what the client may change taken from the new. */
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

/** Checks metadata that came from outside: every type is still unknown. */
export function metadataProblems(metadata: JsonObject, definition: ResourceDefinition): FieldError[] {
  return [
    ...nameProblems(metadata, definition.nameRule),
    ...stringMapProblems(metadata["labels"], "metadata.labels", labelProblem),
    ...stringMapProblems(metadata["annotations"], "metadata.annotations", annotationProblem),
    ...annotationSizeProblems(metadata["annotations"]),
    ...finalizerProblems(metadata["finalizers"]),
    ...ownerProblems(metadata["ownerReferences"]),
  ];
}

function nameProblems({ name, generateName }: JsonObject, rule: ResourceDefinition["nameRule"]): FieldError[] {
  const field = "metadata.name";
  for (const [key, value] of Object.entries({ name, generateName })) {
    if (value !== undefined && typeof value !== "string") return [typeError(`metadata.${key}`, value, "string")];
  }
  if (name === undefined || name === "") {
    return [{ field, reason: "FieldValueRequired", message: "Required value: name or generateName is required" }];
  }
  const problem = nameProblem(name as string, rule);
  return problem === undefined ? [] : [invalidValue(field, name, problem)];
}

const labelProblem = (key: string, value: string): string | undefined =>
  labelKeyProblem(key) ?? labelValueProblem(value);
const annotationProblem = (key: string): string | undefined => labelKeyProblem(key.toLowerCase());

function stringMapProblems(
  map: unknown,
  field: string,
  problemOf: (key: string, value: string) => string | undefined,
): FieldError[] {
  if (map === undefined || map === null) return [];
  if (!isJsonObject(map)) return [typeError(field, map, "object")];
  return Object.entries(map).flatMap(([key, value]) => {
    if (typeof value !== "string") return [typeError(`${field}[${key}]`, value, "string")];
    const problem = problemOf(key, value);
    return problem === undefined ? [] : [invalidValue(field, key, problem)];
  });
}

const maxAnnotationBytes = 256 * 1024;

function annotationSizeProblems(annotations: unknown): FieldError[] {
  if (!isJsonObject(annotations)) return [];
  const bytes = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  const message = `Too long: may not be more than ${maxAnnotationBytes} bytes`;
  return bytes <= maxAnnotationBytes ? [] : [{ field: "metadata.annotations", reason: "FieldValueTooLong", message }];
}

function finalizerProblems(finalizers: unknown): FieldError[] {
  const field = "metadata.finalizers";
  if (finalizers === undefined || finalizers === null) return [];
  if (!Array.isArray(finalizers)) return [typeError(field, finalizers, "array")];
  return finalizers.flatMap((finalizer: unknown, at) => {
    if (typeof finalizer !== "string") return [typeError(`${field}[${at}]`, finalizer, "string")];
    const problem = labelKeyProblem(finalizer);
    return problem === undefined ? [] : [invalidValue(`${field}[${at}]`, finalizer, problem)];
  });
}

function ownerProblems(owners: unknown): FieldError[] {
  const field = "metadata.ownerReferences";
  if (owners === undefined || owners === null) return [];
  if (!Array.isArray(owners)) return [typeError(field, owners, "array")];
  const problems = owners.flatMap((owner: unknown, at) => {
    if (!isJsonObject(owner)) return [typeError(`${field}[${at}]`, owner, "object")];
    return ["apiVersion", "kind", "name", "uid"].flatMap((key) =>
      typeof owner[key] === "string" && owner[key] !== ""
        ? []
        : [{ field: `${field}[${at}].${key}`, reason: "FieldValueRequired", message: "Required value" } as const],
    );
  });
  const controllers = owners.filter((owner: unknown) => isJsonObject(owner) && owner["controller"] === true);
  if (controllers.length > 1)
    problems.push(invalidValue(field, controllers.length, "only one reference can have controller set to true"));
  return problems;
}

export function invalidValue(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

export function typeError(field: string, value: unknown, wanted: string): FieldError {
  const found = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return {
    field,
    reason: "FieldValueTypeInvalid",
    message: `Invalid value: "${found}": ${field} must be of type ${wanted}: "${found}"`,
  };
}
