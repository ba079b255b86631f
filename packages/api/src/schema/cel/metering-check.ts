import { Budget } from "./budget.ts";
import type { Compilation } from "./program.ts";

/** Expressions that together run every kind of node that is charged, with the steps they cost when `self` is `numbers`. */
const probes: readonly (readonly [expression: string, steps: number])[] = [
  ["self.all(x, x >= 0)", 51],
  ["self.exists(x, x < 0) || true", 51],
  ["self.exists_one(x, x == 1)", 51],
  ["self.filter(x, x in self) == self", 94],
  ["self.map(x, x + 1).size() == 10", 57.5],
  ["self.map(x, x <= 8, string(x)).size() == 9", 95.8125],
  ["self.all(i, x, i != x || x > -1)", 130],
];

const numbers = Array.from({ length: 10 }, (_, index) => BigInt(index));

/**
 * Charging depends on private parts of the CEL library. This runs a few expressions and returns an error if one of them costs
 * less than it must, which means that the library has changed and no longer calls all hooks.
 */
export function findMeteringError(compile: (expression: string) => Compilation): string | undefined {
  for (const [expression, steps] of probes) {
    const compilation = compile(expression);
    if ("error" in compilation) return `"${expression}" does not compile: ${compilation.error}`;
    const budget = new Budget();
    try {
      compilation.program.run({ self: numbers }, budget);
    } catch (error) {
      return `"${expression}" fails: ${(error as Error).message}`;
    }
    if (budget.used < steps) return `"${expression}" was charged ${budget.used} steps instead of ${steps}`;
  }
  return undefined;
}
