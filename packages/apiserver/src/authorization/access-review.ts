import { type FieldError, invalid } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, stringAt } from "../api-object.ts";
import type { Identity } from "../auth/identity.ts";
import type { Review } from "../resources/definition.ts";
import type { Attributes } from "./attributes.ts";
import { specOf } from "./review.ts";

const group = "authorization.k8s.io";

/** Answers a SubjectAccessReview: whether a user may do something. */
export const subjectAccessReview: Review = (call) => {
  refuse(call.object, [...attributeProblems(call.object), ...subjectProblems(call.object)]);
  return decide(call, subjectOf(call.object));
};

/** The same for one namespace. */
export const localSubjectAccessReview: Review = (call) => {
  refuse(call.object, [
    ...attributeProblems(call.object),
    ...subjectProblems(call.object),
    ...placeProblems(call.object),
  ]);
  return decide(call, subjectOf(call.object));
};

/** Answers a SelfSubjectAccessReview: whether the caller may do something. */
export const selfSubjectAccessReview: Review = (call) => {
  refuse(call.object, attributeProblems(call.object));
  return decide(call, call.identity);
};

function decide({ context, object }: Parameters<Review>[0], identity: Identity): object {
  const { allowed, reason } = context.access.authorizer.decide(identity, attributesIn(object));
  return { allowed, ...(reason === "" ? {} : { reason }) };
}

function refuse(object: ApiObject, problems: readonly FieldError[]): void {
  if (problems.length > 0) throw invalid(object.kind, { group, plural: object.kind, name: "" }, problems);
}

function wrong(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(value ?? null)}: ${why}` };
}

function attributeProblems(object: ApiObject): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = specOf(object);
  if (isJsonObject(resource) && isJsonObject(path)) {
    const why = "cannot be specified in combination with resourceAttributes";
    return [wrong("spec.nonResourceAttributes", path, why)];
  }
  if (isJsonObject(resource) || isJsonObject(path)) return [];
  const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
  return [wrong("spec.resourceAttributes", path, why)];
}

function subjectProblems(object: ApiObject): FieldError[] {
  const { user = "", groups } = specOf(object);
  const named = user !== "" || (Array.isArray(groups) && groups.length > 0);
  return named ? [] : [wrong("spec.user", user, "at least one of user or group must be specified")];
}

function placeProblems(object: ApiObject): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = specOf(object);
  if (isJsonObject(path)) return [wrong("spec.nonResourceAttributes", path, "disallowed on this kind of request")];
  const namespace = stringAt(resource, "namespace") ?? "";
  if (!isJsonObject(resource) || namespace === object.metadata.namespace) return [];
  return [wrong("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace")];
}

function attributesIn(object: ApiObject): Attributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = specOf(object);
  const textOf = (from: unknown, key: string): string => stringAt(from, key) ?? "";
  if (isJsonObject(path)) return { kind: "path", verb: textOf(path, "verb"), path: textOf(path, "path") };
  return {
    kind: "resource",
    verb: textOf(resource, "verb"),
    group: textOf(resource, "group"),
    version: textOf(resource, "version"),
    namespace: textOf(resource, "namespace"),
    resource: textOf(resource, "resource"),
    subresource: textOf(resource, "subresource"),
    name: textOf(resource, "name"),
  };
}

function subjectOf(object: ApiObject): Identity {
  const spec: JsonObject = specOf(object);
  const groups = Array.isArray(spec["groups"]) ? (spec["groups"] as string[]) : [];
  return { user: stringAt(spec, "user") ?? "", groups };
}
