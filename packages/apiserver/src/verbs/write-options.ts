import { badRequest } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Query } from "../request/query.ts";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  /** Refuses, by throwing, what the writer may not write although the request is allowed. */
  refuse?(object: ApiObject, old: ApiObject | undefined): void;
}

export function parseWriteOptions(query: Query): WriteOptions {
  return {
    dryRun: parseDryRun(query.text("dryRun")),
    fieldValidation: query.oneOf("fieldValidation", ["Ignore", "Warn", "Strict"]) ?? "Warn",
  };
}

export function parseDryRun(value: unknown): boolean {
  if (value === undefined || value === "") return false;
  if (value === "All") return true;
  throw badRequest(`dryRun must be "All", not ${JSON.stringify(value)}`);
}
