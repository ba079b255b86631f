import type { JsonObject } from "../api-object.ts";
import { plainText, typeName } from "../apply/go-format.ts";
import type { MergeSchema } from "../apply/merge-schema.ts";
import { hasDirective, patchDirective, plainItems, plainValue } from "./directives.ts";
import { identity, inOrder, placesOf } from "./element-order.ts";
import { itemSchema, type PatchRule } from "./list-rule.ts";
import { badDirective, PatchProblem } from "./patch-problem.ts";

/** Merges two objects. A parameter because objects contain lists that contain objects. */
export type MergeObjects = (live: JsonObject, patch: JsonObject, schema: MergeSchema) => JsonObject;

/** Merges the list of a patch into the live list by the rule of the field. */
export function mergeLists(
  live: readonly unknown[],
  patch: readonly unknown[],
  { rule, mergeObjects }: { rule: PatchRule; mergeObjects: MergeObjects },
): readonly unknown[] {
  if (!rule.merges) return plainItems(patch);
  if (live.length === 0 && patch.length === 0) return live;
  const { mergeKey } = rule;
  if (elementType(live, patch) !== typeName({})) {
    return inOrder({ merged: [...new Set([...live, ...patch])], wanted: patch, live, mergeKey: "" });
  }
  if (mergeKey === "")
    throw new PatchProblem(`cannot merge lists without merge key for ${itemSchema(rule).type ?? "Struct"}`);
  const { items, rest } = applyDirectives(live, patch, mergeKey);
  const places = placesOf(items, mergeKey);
  const merged = [...items];
  for (const item of rest) {
    const key = identity(item, mergeKey);
    const at = places.get(key);
    if (at === undefined) places.set(key, merged.push(plainValue(item)) - 1);
    else merged[at] = mergeObjects(merged[at] as JsonObject, item as JsonObject, itemSchema(rule));
  }
  return inOrder({ merged, wanted: rest, live: items, mergeKey });
}

export function removeScalars(live: readonly unknown[], removed: readonly unknown[]): unknown[] {
  if (live.length > 0 || removed.length > 0) elementType(live, removed);
  const gone = new Set(removed);
  return live.filter((item) => !gone.has(item));
}

interface AfterDirectives {
  /** The live items that remain. */
  readonly items: readonly unknown[];
  /** The items of the patch that are not directives. */
  readonly rest: readonly unknown[];
}

function applyDirectives(live: readonly unknown[], patch: readonly unknown[], mergeKey: string): AfterDirectives {
  const deleted = new Set<unknown>();
  let replace = false;
  for (const item of patch) {
    if (!hasDirective(item)) continue;
    switch (item[patchDirective]) {
      case "delete":
        deleted.add(identity(item, mergeKey));
        break;
      case "replace":
        replace = true;
        break;
      case "merge":
        throw new PatchProblem("merging lists cannot yet be specified in the patch");
      default:
        throw badDirective(item[patchDirective], item);
    }
  }
  const rest = patch.filter((item) => !hasDirective(item));
  if (replace) return { items: plainItems(rest), rest: [] };
  return { items: live.filter((item) => !deleted.has(identity(item, mergeKey))), rest };
}

/** The type that the items of both lists have in common. Throws when they differ. */
export function elementType(live: readonly unknown[], patch: readonly unknown[]): string {
  const types = new Set([...live, ...patch].map(typeName));
  const [type] = types;
  if (type === undefined) throw new PatchProblem("no elements in any of the given slices");
  if (type === typeName([])) throw new PatchProblem("lists of lists are not supported", 422);
  if (types.size > 1) {
    throw new PatchProblem(`list element types are not identical: ${plainText([live, patch])}`);
  }
  return type;
}
