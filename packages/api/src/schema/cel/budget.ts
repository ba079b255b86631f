/**
 * What the rules of one object may cost, in steps of about a quarter of a microsecond: evaluation is synchronous and cannot be
 * interrupted, so everything that grows with the object or the rule pays before it is done.
 */
export class Budget {
  /** For all rules of an object together: well under a second. */
  #left = mostSteps;
  /** For the rule that runs. */
  #ruleLeft = mostStepsOfRule;

  get spent(): boolean {
    return this.#left < 0;
  }

  startRule(): void {
    this.#ruleLeft = mostStepsOfRule;
  }

  /** Kubernetes, too, runs no other rule after one that was cut off. */
  endRule(): void {
    if (this.#ruleLeft < 0) this.#left = -1;
  }

  take(steps: number): void {
    this.#left -= steps;
    this.#ruleLeft -= steps;
    if (this.#ruleLeft < 0) throw ruleTooCostly;
    if (this.#left < 0) throw objectTooCostly;
  }
}

/** As many as kube-apiserver allows to one rule, and a third of what it allows to an object: it is the faster one. */
const mostStepsOfRule = 1_000_000;
const mostSteps = 3_000_000;

/** What was asked costs too much: one rule, or all rules of the object together. */
export class CostError extends Error {
  override readonly name = "CostError";
}

// Thrown again and again while loops unwind: made once, because it is the stack that makes an error slow.
const ruleTooCostly = new CostError("operation cancelled: actual cost limit exceeded");
export const objectTooCostly: CostError = new CostError(
  "validation failed due to running out of cost budget, no further validation rules will be run",
);

let current: Budget | undefined;

/** Runs one expression. Throws `CostError` if it costs too much, whatever the expression made of that. */
export function runWithin<T>(budget: Budget, expression: () => T): T {
  const before = current;
  current = budget;
  budget.startRule();
  try {
    const result = expression();
    budget.take(0);
    return result;
  } catch (error) {
    budget.take(0);
    throw error;
  } finally {
    current = before;
    budget.endRule();
  }
}

/** Called by everything that a rule can make long, before it begins. */
export function spend(steps: number): void {
  current?.take(steps);
}

const weights = new WeakMap<object, number>();

/** The steps it takes to look at all of a value, once. */
export function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length / 16;
  if (typeof value !== "object" || value === null) return 0;
  const known = weights.get(value);
  if (known !== undefined) return known;
  const weight = containedWeight(value);
  weights.set(value, weight);
  return weight;
}

function containedWeight(value: object): number {
  let sum = 1;
  if (Array.isArray(value) || value instanceof Map) {
    for (const item of value.values()) sum += 1 / 4 + weightOf(item);
  } else if (Object.getPrototypeOf(value) === null || Object.getPrototypeOf(value) === Object.prototype) {
    for (const item of Object.values(value)) sum += 1 / 4 + weightOf(item);
  }
  return sum;
}
