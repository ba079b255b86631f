import type { PrinterColumn } from "@agent-sandbox/api";
import type { Column } from "../resources/definition.ts";
import { ageOf } from "./age.ts";
import { compileJsonPath } from "./json-path.ts";

/** A printer column of a CustomResourceDefinition. The cell is empty if its path finds no value of its type. */
export function customColumn({ name, type, jsonPath, priority = 0 }: PrinterColumn): Column {
  const path = compileJsonPath(jsonPath);
  const cell: Column["cell"] = (object, nowMs) => {
    const [value] = path?.(object) ?? [];
    return value === undefined || value === null ? null : cellOf(type, value, nowMs);
  };
  return { name, type, priority, cell };
}

function cellOf(type: PrinterColumn["type"], value: unknown, nowMs: number): string | number | boolean | null {
  switch (type) {
    case "string":
      return typeof value === "string" ? value : JSON.stringify(value);
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      if (typeof value !== "string") return null;
      return Number.isNaN(Date.parse(value)) ? "<invalid>" : ageOf(value, nowMs);
    default:
      return type satisfies never;
  }
}

/** The column of kinds that define no columns. */
export const customAgeColumn: Column = customColumn({
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
});
