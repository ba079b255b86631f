import { badRequest, type FieldError } from "../api-error.ts";
import { isJsonObject, type JsonObject } from "../api-object.ts";
import type { Query } from "../request/query.ts";
import { invalidValue, notSupported } from "../resources/field-problems.ts";
import { dryRunProblems, invalidOptions } from "./write-options.ts";

export interface DeleteOptions {
  readonly dryRun?: boolean;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagation?: "Foreground" | "Background" | "Orphan" | undefined;
}

/** Options can be in the body, in the query, or both. The body takes precedence. */
export function parseDeleteOptions(query: Query, body: unknown): DeleteOptions {
  const given = bodyOptions(body);
  const preconditions = isJsonObject(given["preconditions"]) ? given["preconditions"] : {};
  const dryRun = listOf(given["dryRun"]) ?? query.all("dryRun");
  const propagation = given["propagationPolicy"] ?? query.text("propagationPolicy") ?? undefined;
  const orphan = given["orphanDependents"] ?? orphanFlag(query);
  const gracePeriodSeconds = gracePeriod(given["gracePeriodSeconds"] ?? query.count("gracePeriodSeconds"));
  const problems = [...propagationProblems(propagation, orphan), ...dryRunProblems(dryRun)];
  if (problems.length > 0) throw invalidOptions("DeleteOptions", problems);
  return {
    dryRun: dryRun.length > 0,
    uid: optionalString(preconditions["uid"], "preconditions.uid"),
    resourceVersion: optionalString(preconditions["resourceVersion"], "preconditions.resourceVersion"),
    gracePeriodSeconds,
    propagation: (propagation as DeleteOptions["propagation"]) ?? (orphan === true ? "Orphan" : undefined),
  };
}

function bodyOptions(body: unknown): JsonObject {
  if (body === undefined || body === null) return {};
  if (!isJsonObject(body)) throw badRequest("DeleteOptions must be a JSON object");
  const { kind = "DeleteOptions" } = body;
  // `apiVersion` does not matter: DeleteOptions are the same in all groups and versions.
  if (kind === "DeleteOptions") return body;
  throw badRequest(`the body of a deletion must be of kind DeleteOptions, not ${JSON.stringify(kind)}`);
}

function listOf(value: unknown): readonly unknown[] | undefined {
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value : [value];
}

function orphanFlag(query: Query): boolean | undefined {
  return query.text("orphanDependents") === undefined ? undefined : query.flag("orphanDependents");
}

function optionalString(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw badRequest(`${field} must be a string`);
  return value;
}

function gracePeriod(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw badRequest("gracePeriodSeconds must be a whole number of seconds, 0 or more");
  }
  return value as number;
}

const policies = ["Foreground", "Background", "Orphan"];

function propagationProblems(policy: unknown, orphan: unknown): FieldError[] {
  if (policy === undefined) return [];
  const field = "propagationPolicy";
  return [
    ...(orphan === undefined || orphan === null
      ? []
      : [invalidValue(field, policy, "orphanDependents and deletionPropagation cannot be both set")]),
    ...(policies.some((each) => each === policy) ? [] : [notSupported(field, policy, [...policies, "nil"])]),
  ];
}
