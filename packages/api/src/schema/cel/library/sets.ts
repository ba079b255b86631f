import { spend, weightOf } from "../budget.ts";
import { celEquals } from "./equality.ts";
import type { Library } from "./library.ts";

type List = readonly unknown[];

function contains(list: List, part: List): boolean {
  // Compares all pairs; each comparison reads at most the shorter value.
  spend(weightOf(part) * (1 + list.length / 4) + weightOf(list));
  return part.every((item) => list.some((other) => celEquals(other, item)));
}

function intersects(a: List, b: List): boolean {
  spend(weightOf(a) * (1 + b.length / 4) + weightOf(b));
  return a.some((item) => b.some((other) => celEquals(other, item)));
}

export const sets: Library = {
  namespaces: ["sets"],
  functions: {
    "namespace.sets.contains(list, list): bool": (_: unknown, list: List, part: List) => contains(list, part),
    "namespace.sets.equivalent(list, list): bool": (_: unknown, a: List, b: List) => contains(a, b) && contains(b, a),
    "namespace.sets.intersects(list, list): bool": (_: unknown, a: List, b: List) => intersects(a, b),
  },
};
