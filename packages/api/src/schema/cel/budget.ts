/**
 * The cost that the rules of one object may reach, in steps of about a quarter of a microsecond. Evaluation is synchronous and
 * cannot be interrupted, so every operation whose cost grows with the object or the rule pays before it runs.
 */
export class Budget {
  #left = maxStepsPerObject;
  #ruleLeft = maxStepsPerRule;
  #charges = 0;
  #isUnmetered = false;

  get isExhausted(): boolean {
    return this.#left < 0;
  }

  /** The steps spent by all rules so far. */
  get used(): number {
    return maxStepsPerObject - this.#left;
  }

  /** How often something was charged, even if it cost nothing. */
  get charges(): number {
    return this.#charges;
  }

  startRule(): void {
    this.#ruleLeft = maxStepsPerRule;
  }

  /** Like kube-apiserver, runs no other rule after one that was cut off. */
  endRule(): void {
    if (this.#ruleLeft < 0 || this.#isUnmetered) this.#left = -1;
  }

  charge(steps: number): void {
    this.#charges += 1;
    this.#left -= steps;
    this.#ruleLeft -= steps;
    this.check();
  }

  /** Records that something ran without being charged. From now on every charge and check fails. */
  markUnmetered(): void {
    this.#isUnmetered = true;
  }

  check(): void {
    if (this.#isUnmetered) throw new MeteringError();
    if (this.#ruleLeft < 0) throw ruleTooCostly;
    if (this.#left < 0) throw objectTooCostly;
  }
}

/** The limit of kube-apiserver for one rule, and a third of its limit for an object, because its evaluation is faster. */
const maxStepsPerRule = 1_000_000;
const maxStepsPerObject = 3_000_000;

/** One rule, or all rules of an object together, cost too much. */
export class CostError extends Error {
  override readonly name = "CostError";
}

/** An expression ran, in whole or in part, without being charged, so nothing bounds its cost. */
export class MeteringError extends Error {
  override readonly name = "MeteringError";

  constructor(detail = "parts of the expression ran without being charged") {
    super(`cannot limit the cost of CEL expressions: ${detail}`);
  }
}

// Thrown many times while nested loops unwind. Created once, because capturing a stack is what makes an error slow.
const ruleTooCostly = new CostError("operation cancelled: actual cost limit exceeded");
export const objectTooCostly: CostError = new CostError(
  "validation failed due to running out of cost budget, no further validation rules will be run",
);

let current: Budget | undefined;

/**
 * Runs one expression against a budget. Throws `CostError` or `MeteringError` even if the expression caught that error itself:
 * in CEL, `||`, `&&`, `all` and `exists` ignore errors of one side.
 */
export function runWithin<T>(budget: Budget, expression: () => T): T {
  const before = current;
  current = budget;
  budget.startRule();
  try {
    const result = expression();
    budget.check();
    return result;
  } catch (error) {
    budget.check();
    throw error;
  } finally {
    current = before;
    budget.endRule();
  }
}

/** Charges the running rule. Every operation whose cost a rule can make grow calls it first. */
export function spend(steps: number): void {
  current?.charge(steps);
}

/** The budget of the running rule. */
export function currentBudget(): Budget | undefined {
  return current;
}

const weights = new WeakMap<object, number>();

/** The steps needed to read all of a value once. */
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
