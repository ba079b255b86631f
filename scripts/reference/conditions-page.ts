import { markdownTable } from "./markdown-table.ts";
import { reasons } from "./reasons.ts";

/** The conditions and events of our kinds, with their reasons. */
export function conditionsPage(): string {
  return Object.entries(reasons)
    .map(([kind, rows]) => {
      const cells = rows.map(({ on, reason, meaning }) => [on, `\`${reason}\``, meaning]);
      return `## ${kind}\n\n${markdownTable(["condition", "reason", "meaning"], cells)}`;
    })
    .join("\n\n");
}
