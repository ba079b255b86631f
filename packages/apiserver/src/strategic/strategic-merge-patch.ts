import { isJsonObject, type JsonObject } from "../api-object.ts";
import { typeName } from "../apply/go-format.ts";
import { type MergeSchema, wholeObjectSchema } from "../apply/merge-schema.ts";
import { copyJson } from "../json.ts";
import {
  badFormat,
  deleteFromList,
  hasDirective,
  listName,
  patchDirective,
  plainItems,
  plainMembers,
  plainValue,
  retainKeys,
  setElementOrder,
} from "./directives.ts";
import { checkOrder, inOrder, withFreshItems } from "./element-order.ts";
import { ruleOf } from "./list-rule.ts";
import { elementType, mergeLists, removeScalars } from "./merge-lists.ts";
import { badDirective, notList, PatchProblem } from "./patch-problem.ts";

export type StrategicallyPatched =
  | { readonly value: JsonObject }
  /** 422 when the patch is well formed but asks for something unsupported, 400 otherwise. */
  | { readonly problem: string; readonly code: 400 | 422 };

/**
 * Kubernetes' strategic merge patch: a merge patch that can also merge lists, controlled by the schema of the kind
 * (`x-kubernetes-patch-strategy`, `x-kubernetes-patch-merge-key`) and by directives in the patch. Changes neither
 * argument. Custom resources refuse such patches, because their schemas lack these extensions.
 */
export function strategicMergePatch(live: JsonObject, patch: JsonObject, schema: MergeSchema): StrategicallyPatched {
  const copied = copyJson(patch);
  if ("problem" in copied) return { problem: copied.problem, code: 400 };
  try {
    return { value: mergeObjects(live, copied.value as JsonObject, wholeObjectSchema(schema)) };
  } catch (error) {
    if (error instanceof PatchProblem) return { problem: error.message, code: error.code };
    throw error;
  }
}

function mergeObjects(live: JsonObject, patch: JsonObject, schema: MergeSchema): JsonObject {
  if (hasDirective(patch)) return applyDirective(patch);
  const result = new Map(Object.entries(retained(live, patch)));
  const changes = new Map(Object.entries(patch));
  changes.delete(retainKeys);
  for (const key of Object.keys(patch)) {
    if (key.startsWith(setElementOrder)) mergeInOrder({ result, changes, schema }, key);
  }
  // Deletions from lists come last, so that the result does not depend on the order of the patch's members.
  for (const [key, value] of changes) {
    if (!key.startsWith(deleteFromList)) mergeMember(result, { name: key, value }, schema);
  }
  for (const [key, value] of changes) {
    if (key.startsWith(deleteFromList)) deleteItems(result, listName(key, deleteFromList), value);
  }
  return Object.fromEntries(result);
}

function applyDirective(patch: JsonObject): JsonObject {
  const { [patchDirective]: directive, ...rest } = patch;
  if (directive === "replace") return plainMembers(rest);
  if (directive === "delete") return {};
  throw badDirective(directive, patch);
}

/** The live object with only the members that `$retainKeys` names. The patch must not set others. */
function retained(live: JsonObject, patch: JsonObject): JsonObject {
  if (!Object.hasOwn(patch, retainKeys)) return live;
  const kept = patch[retainKeys];
  if (!Array.isArray(kept)) throw badFormat(retainKeys);
  const names = new Set<unknown>(kept);
  const isSet = ([key, value]: [string, unknown]): boolean =>
    value !== null && key !== retainKeys && !key.startsWith(deleteFromList) && !key.startsWith(setElementOrder);
  if (Object.entries(patch).some((entry) => isSet(entry) && !names.has(entry[0]))) throw badFormat(retainKeys);
  return Object.fromEntries(Object.entries(live).filter(([key]) => names.has(key)));
}

interface Merging {
  readonly result: Map<string, unknown>;
  /** The members of the patch that are not merged yet. */
  readonly changes: Map<string, unknown>;
  readonly schema: MergeSchema;
}

/** Merges a list and sorts it in the order that the directive `key` gives. */
function mergeInOrder({ result, changes, schema }: Merging, key: string): void {
  const order = changes.get(key);
  changes.delete(key);
  if (!Array.isArray(order)) throw notList(order);
  const name = listName(key, setElementOrder);
  const live = listIn(result, name);
  const patch = listIn(changes, name);
  const rule = ruleOf(schema, name);
  checkOrder(patch ?? [], order, rule.mergeKey);
  if (live === undefined && patch === undefined) return;
  const merged = mergedList(live, patch, (old, now) => mergeLists(old, now, { rule, mergeObjects }));
  elementType(live ?? [], patch ?? []);
  const places = withFreshItems(live ?? [], merged, rule.mergeKey);
  result.set(name, inOrder({ merged, wanted: order, live: places, mergeKey: rule.mergeKey }));
  changes.delete(name);
}

function mergedList(
  live: readonly unknown[] | undefined,
  patch: readonly unknown[] | undefined,
  merge: (live: readonly unknown[], patch: readonly unknown[]) => readonly unknown[],
): readonly unknown[] {
  if (patch === undefined) return live ?? [];
  return live === undefined ? plainItems(patch) : merge(live, patch);
}

function listIn(members: ReadonlyMap<string, unknown>, name: string): readonly unknown[] | undefined {
  if (!members.has(name)) return undefined;
  const value = members.get(name);
  if (!Array.isArray(value)) throw notList(value);
  return value;
}

function mergeMember(
  result: Map<string, unknown>,
  { name, value }: { name: string; value: unknown },
  schema: MergeSchema,
): void {
  const merged = value === null ? undefined : mergedValue(result.get(name), value, schema, name);
  if (merged === undefined) result.delete(name);
  else result.set(name, merged);
}

function mergedValue(old: unknown, value: unknown, schema: MergeSchema, name: string): unknown {
  if (old === undefined || typeName(old) !== typeName(value)) return plainValue(value);
  const rule = ruleOf(schema, name);
  if (Array.isArray(old) && Array.isArray(value)) return mergeLists(old, value, { rule, mergeObjects });
  if (!isJsonObject(old) || !isJsonObject(value)) return value;
  return rule.replaces ? plainValue(value) : mergeObjects(old, value, rule.schema);
}

function deleteItems(result: Map<string, unknown>, name: string, removed: unknown): void {
  if (!Array.isArray(removed)) throw badFormat(deleteFromList);
  const old = result.get(name);
  if (Array.isArray(old)) result.set(name, removeScalars(old, removed));
}
