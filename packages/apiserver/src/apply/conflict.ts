import { ApiError } from "../api-error.ts";
import { quoted } from "./go-format.ts";
import { entryId, type ManagedEntry } from "./managed-table.ts";
import type { FieldConflict } from "./ownership.ts";
import { renderPath } from "./path-element.ts";

/** A client can apply thousands of fields that others own. The answer lists this many and counts the rest. */
const maxListed = 1000;

/** The error for an apply that would change fields of other managers. `conflicts` must be grouped by owner. */
export function conflictError(conflicts: readonly FieldConflict[]): ApiError {
  const shown = conflicts.slice(0, maxListed);
  const causes = shown.map(({ owner, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${ownerName(owner)}`,
    field: renderPath(path),
  }));
  return new ApiError("Conflict", conflictMessage(shown, conflicts.length), { details: { causes } });
}

function conflictMessage(conflicts: readonly FieldConflict[], count: number): string {
  const [first] = conflicts;
  if (first !== undefined && count === 1) {
    return `Apply failed with 1 conflict: conflict with ${ownerName(first.owner)}: ${renderPath(first.path)}`;
  }
  const lines: string[] = [];
  for (const [at, { owner, path }] of conflicts.entries()) {
    const before = conflicts[at - 1]?.owner;
    if (before === undefined || entryId(before) !== entryId(owner)) lines.push(`conflicts with ${ownerName(owner)}:`);
    lines.push(`- ${renderPath(path)}`);
  }
  if (count > conflicts.length) lines.push(`and ${count - conflicts.length} more`);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

/** Only an updater is named with its version: an applier is the same in all versions. */
function ownerName({ manager, operation, apiVersion, subresource }: ManagedEntry): string {
  const name = quoted(manager) + (subresource === "" ? "" : ` with subresource ${quoted(subresource)}`);
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}
