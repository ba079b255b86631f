import { type FieldError, invalid } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import { managerName, maxManagerBytes } from "../apply/manager-name.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Query } from "../request/query.ts";
import { invalidValue, notSupported, tooLong } from "../resources/field-problems.ts";
import type { NamespaceLimits } from "./namespace-limits.ts";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  /** Fields that the body contains more than once, which is an error under strict validation. Default: none. */
  readonly duplicateFields?: readonly string[] | undefined;
  /** The field manager to record. Default: `""`. */
  readonly manager?: string;
  /** Throws if the user may not write this object although the request itself is authorized. */
  refuse?(object: ApiObject, old: ApiObject | undefined): void;
  /** How much the namespace may store. Default: no limit. */
  readonly limits?: NamespaceLimits | undefined;
}

/** The field manager of the server's own writes. */
export const ownManager = "agent-sandbox";

/** The options of the server's own writes. */
export const ownWrite: WriteOptions = { dryRun: false, fieldValidation: "Ignore", manager: ownManager };

const optionsKinds: Readonly<Record<string, string>> = { POST: "CreateOptions", PUT: "UpdateOptions" };

export function parseWriteOptions(
  query: Query,
  { method, headers }: Pick<ApiRequest, "method" | "headers">,
): WriteOptions {
  const fieldManager = query.text("fieldManager") ?? "";
  const fieldValidation = query.text("fieldValidation") || "Warn";
  const dryRun = query.all("dryRun");
  const problems = [
    ...managerProblems(fieldManager),
    ...dryRunProblems(dryRun),
    ...(validations.includes(fieldValidation) ? [] : [notSupported("fieldValidation", fieldValidation, validations)]),
  ];
  if (problems.length > 0) throw invalidOptions(optionsKinds[method] ?? "PatchOptions", problems);
  return {
    dryRun: dryRun.length > 0,
    fieldValidation: fieldValidation as WriteOptions["fieldValidation"],
    manager: managerName(fieldManager, headers["user-agent"]),
  };
}

const validations = ["", "Ignore", "Strict", "Warn"];

function managerProblems(fieldManager: string): FieldError[] {
  const bytes = Buffer.byteLength(fieldManager);
  if (bytes > maxManagerBytes) return [tooLong("fieldManager", maxManagerBytes)];
  const [unprintable] = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(fieldManager) ?? [];
  if (unprintable === undefined) return [];
  const at = Buffer.byteLength(fieldManager.slice(0, fieldManager.indexOf(unprintable)));
  const code = (unprintable.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return [invalidValue("fieldManager", fieldManager, `invalid character U+${code} (at position ${at})`)];
}

/** `kind` is the Kubernetes name of the options, such as PatchOptions. */
export function invalidOptions(kind: string, problems: readonly FieldError[]): Error {
  return invalid(kind, { group: "meta.k8s.io", plural: kind, name: "" }, problems);
}

export function dryRunProblems(values: readonly unknown[]): FieldError[] {
  return values.every((value) => value === "All") ? [] : [notSupported("dryRun", values, ["All"])];
}
