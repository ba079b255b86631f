import { isJsonObject } from "../api-object.ts";
import type { Attributes, ResourceAttributes } from "./attributes.ts";

/** One rule of a Role. Rules only add permissions. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const none: readonly string[] = [];

/** Reads the rules of a stored role. Roles are validated when they are written, and values that are not strings are ignored. */
export function readRules(value: unknown): readonly PolicyRule[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isJsonObject).map((rule) => ({
    verbs: texts(rule["verbs"]) ?? none,
    ...optional("apiGroups", rule),
    ...optional("resources", rule),
    ...optional("resourceNames", rule),
    ...optional("nonResourceURLs", rule),
  }));
}

function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : undefined;
}

function optional(key: string, rule: Readonly<Record<string, unknown>>): object {
  const found = texts(rule[key]);
  return found === undefined || found.length === 0 ? {} : { [key]: found };
}

export function ruleAllows(rule: PolicyRule, wanted: Attributes): boolean {
  if (!hasOrAll(rule.verbs, wanted.verb)) return false;
  if (wanted.kind === "path") return (rule.nonResourceURLs ?? none).some((pattern) => urlCovers(pattern, wanted.path));
  return (
    hasOrAll(rule.apiGroups ?? none, wanted.group) &&
    (rule.resources ?? none).some((pattern) => resourceMatches(pattern, wanted)) &&
    nameMatches(rule.resourceNames ?? none, wanted.name)
  );
}

export const hasOrAll = (list: readonly string[], wanted: string): boolean =>
  list.includes("*") || list.includes(wanted);

// `*` matches everything, `*/scale` that subresource of every resource. A resource does not include its subresources.
function resourceMatches(pattern: string, { resource, subresource }: ResourceAttributes): boolean {
  if (pattern === "*") return true;
  if (subresource === "") return pattern === resource;
  return pattern === `${resource}/${subresource}` || pattern === `*/${subresource}`;
}

const nameMatches = (names: readonly string[], wanted: string): boolean => names.length === 0 || names.includes(wanted);

/** `*` is a wildcard only at the end of a pattern. */
export function urlCovers(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  if (!pattern.endsWith("*")) return false;
  let end = pattern.length;
  while (pattern[end - 1] === "*") end -= 1;
  return path.startsWith(pattern.slice(0, end));
}
