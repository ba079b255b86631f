import { type ApiObject, valueAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { type CheckOptions, summary, typeProblems } from "./check-type.ts";
import { fieldsOf } from "./extract.ts";
import { difference, hasField, without } from "./field-set.ts";
import { typeText } from "./go-format.ts";
import { lastAppliedFields, lastAppliedManager, withLastApplied } from "./last-applied.ts";
import {
  decodeManagedFields,
  entryId,
  type ManagedEntry,
  type ManagedTable,
  withEntry,
  withManagedFields,
} from "./managed-table.ts";
import { merge } from "./merge.ts";
import { neverOwned } from "./never-owned.ts";
import { currentTable, type FieldConflict, removeLostFields } from "./ownership.ts";
import { prune } from "./prune.ts";
import { updatedTable } from "./record-update.ts";
import { type KindVersions, resetFields, type Versioned, versioned, zeroLike } from "./versioned.ts";
import { newEntry, type Writer } from "./writer.ts";

export interface Apply extends Writer {
  /** The stored object in the version of the configuration; `undefined` when there is none. */
  readonly live: ApiObject | undefined;
  readonly config: ApiObject;
  /** Take over fields of other managers instead of reporting conflicts. */
  readonly force: boolean;
}

export type Applied =
  /** The object to store, before defaults. The live object itself if nothing changes. */
  { readonly object: ApiObject } | { readonly conflicts: readonly FieldConflict[] } | { readonly problem: string };

const beforeFirstApply = "before-first-apply";

/**
 * Server-side apply: merges a configuration into the live object, removes the fields that its manager no longer applies, and
 * records the manager as the owner of the fields that it applies. If it would change a field of another manager, nothing
 * changes and the result lists the conflicts.
 */
export function applyConfiguration(apply: Apply): Applied {
  const inputs = readInputs(apply);
  if ("problem" in inputs) return inputs;
  const applied = applyInputs(inputs, apply.force);
  if (apply.manager !== lastAppliedManager) return applied;
  const migrated = "conflicts" in applied ? applyMigrating(inputs, applied.conflicts) : applied;
  return "object" in migrated ? { object: withLastApplied(migrated.object, apply.config) } : migrated;
}

/** Fields that kubectl applied client-side are not conflicts. */
function applyMigrating(inputs: Inputs, conflicts: readonly FieldConflict[]): Applied {
  const allowed = lastAppliedFields(inputs.live);
  const others = conflicts.filter(({ path }) => !hasField(allowed, path));
  return others.length > 0 ? { conflicts: others } : applyInputs(inputs, true);
}

interface Inputs {
  readonly kind: KindVersions;
  readonly config: Versioned;
  readonly live: Versioned;
  readonly table: ManagedTable;
  /** The new entry of the applier, without fields. */
  readonly start: ManagedEntry;
}

function readInputs({ kind, config, live, manager, subresource, now }: Apply): Inputs | { readonly problem: string } {
  const given = valueAt(config, "metadata", "managedFields");
  if (given !== undefined && given !== null) return { problem: "metadata.managedFields must be nil" };
  const applied = versioned(kind, config);
  const problem = typeProblem("patch", applied);
  if (problem !== undefined) return { problem };
  const current = live === undefined ? zeroLike(kind, applied) : versioned(kind, live);
  const liveProblem = typeProblem("live", current, { allowDuplicates: true });
  if (liveProblem !== undefined) return { problem: liveProblem };
  const stored = decodeManagedFields(live?.metadata.managedFields);
  if ("problem" in stored) return { problem: `failed to decode managed fields: ${stored.problem}` };
  const before = { kind, now, live: undefined, next: current.object, manager: beforeFirstApply, subresource };
  const table = stored.table.size > 0 ? stored.table : updatedTable(before, stored.table);
  const start = newEntry({ manager, operation: "Apply", apiVersion: config.apiVersion, subresource, time: now });
  return { kind, config: applied, live: current, table: currentTable(kind, table, current), start };
}

function typeProblem(what: "patch" | "live", { object, type }: Versioned, options?: CheckOptions): string | undefined {
  const problems = typeProblems(object, type, options);
  if (problems.length === 0) return undefined;
  const { apiVersion, kind, metadata } = object;
  const name = `${metadata.namespace ?? ""}/${metadata.name ?? ""}; ${typeText(apiVersion, kind)}`;
  return `failed to create typed ${what} object (${name}): ${summary(problems)}`;
}

function applyInputs({ kind, config, live, table, start }: Inputs, force: boolean): Applied {
  const id = entryId(start);
  const last = table.get(id);
  const fields = without(fieldsOf(config.object, config.type), resetFields(kind, start.apiVersion));
  const owned = new Map(table).set(id, { ...start, fields });
  const merged: Versioned = { type: live.type, object: merge(live.object, config.object, live.type) as ApiObject };
  const after = prune({ kind, merged, table: owned, last });
  const { table: rest, conflicts } = removeLostFields({ kind, before: live, after, table: owned, self: id });
  if (conflicts.length > 0 && !force) return { conflicts };
  // An apply that changes nothing keeps the time of its entry, so that the stored object stays the same.
  const unchanged = equalJson(live.object, after.object);
  const entry = { ...start, fields: difference(fields, neverOwned), time: unchanged ? last?.time : start.time };
  return { object: withManagedFields(unchanged ? live.object : after.object, withEntry(rest, entry)) };
}
