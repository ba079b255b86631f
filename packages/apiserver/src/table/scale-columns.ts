import { valueAt } from "../api-object.ts";
import type { Column } from "../resources/definition.ts";
import { ageColumn } from "./column.ts";

/** The columns of `kubectl get --subresource=scale`. */
export const scaleColumns: readonly Column[] = [
  { name: "Desired", type: "integer", cell: (scale) => Number(valueAt(scale, "spec", "replicas") ?? 0) },
  { name: "Available", type: "integer", cell: (scale) => Number(valueAt(scale, "status", "replicas") ?? 0) },
  { ...ageColumn, type: "date" },
];
