import type { PrinterColumn } from "@agent-sandbox/api";
import type { Column } from "../resources/definition.ts";
import { ageOf } from "./age.ts";
import { compileJsonPath } from "./json-path.ts";

/** A printer column of a CustomResourceDefinition. A path that leads nowhere leaves the cell empty. */
export function customColumn({ name, type, jsonPath, priority = 0 }: PrinterColumn): Column {
  const path = compileJsonPath(jsonPath);
  const cell: Column["cell"] = (object, nowMs) => {
    const [value] = path?.(object) ?? [];
    if (value === undefined || value === null) return type === "date" ? "<unknown>" : "";
    if (type === "date") return typeof value === "string" ? ageOf(value, nowMs) : "<invalid>";
    return typeof value === "number" || typeof value === "boolean"
      ? value
      : typeof value === "string"
        ? value
        : JSON.stringify(value);
  };
  // Ages are worked out here, so that clients show them as they are.
  return { name, type: type === "date" ? "string" : type, priority, cell };
}
