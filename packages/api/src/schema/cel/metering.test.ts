import { parse } from "@marcbachmann/cel-js";
import { describe, expect, onTestFinished, test } from "vitest";
import { formatFieldError } from "../field-error.ts";
import type { StructuralSchema } from "../structural-schema.ts";
import { validate } from "../validate.ts";
import { Budget, MeteringError } from "./budget.ts";
import { meter } from "./meter.ts";
import { compile, createRuntime, requireMetering } from "./program.ts";

/** The class of the library's nodes, whose private parts the meter hooks into. */
const nodePrototype = Object.getPrototypeOf(parse("1").ast) as object;

/** Changes a member of all nodes until the end of the test, as another version of the library could. */
function changeNodes(name: string, descriptor: PropertyDescriptor): void {
  const before = Object.getOwnPropertyDescriptor(nodePrototype, name);
  Object.defineProperty(nodePrototype, name, { configurable: true, ...descriptor });
  onTestFinished(() => {
    Reflect.deleteProperty(nodePrototype, name);
    if (before !== undefined) Object.defineProperty(nodePrototype, name, before);
  });
}

/** Nodes ignore every handler after the first, which the library's own type check assigns. */
function keepFirstHandlers(): void {
  const first = new WeakMap<object, unknown>();
  changeNodes("handle", {
    get(this: object) {
      return first.get(this);
    },
    set(this: object, value: unknown) {
      if (!first.has(this)) first.set(this, value);
    },
  });
}

function ignoreMeta(): void {
  changeNodes("setMeta", {
    value(this: object) {
      return this;
    },
  });
}

/** Nodes ignore evaluators; the library still expands its macros through `setMeta`. */
function ignoreEvaluators(): void {
  const { setMeta } = nodePrototype as { setMeta: (this: object, key: string, value: unknown) => object };
  changeNodes("setMeta", {
    value(this: object, key: string, value: unknown) {
      return key === "evaluate" ? this : setMeta.call(this, key, value);
    },
  });
}

function ignoreBoth(): void {
  keepFirstHandlers();
  ignoreEvaluators();
}

const changes: readonly (readonly [string, () => void])[] = [
  ["the library keeps the first handler of a node", keepFirstHandlers],
  ["nodes have no handler", () => changeNodes("handle", { get: () => undefined, set: () => undefined })],
  ["evaluators of nodes cannot be replaced", ignoreEvaluators],
  ["neither handlers nor evaluators can be replaced", ignoreBoth],
  ["macros are not expanded through setMeta", ignoreMeta],
  ["nodes have no meta", () => changeNodes("meta", { get: () => undefined })],
  ["nodes have no setMeta", () => changeNodes("setMeta", { value: undefined })],
];

describe("metering of CEL expressions", () => {
  test("works with the installed library", () => {
    expect(createRuntime().meteringError).toBeUndefined();
    expect(requireMetering).not.toThrow();
  });

  test.for(changes)("is found to be impossible at start when %s", ([, change]) => {
    change();
    const runtime = createRuntime();
    const { meteringError } = runtime;
    expect(meteringError).toMatch(/was charged|does not compile|fails/);
    expect(compile("self == self", "bool", runtime)).toEqual({
      error: `cannot limit the cost of CEL expressions: ${meteringError}`,
    });
  });

  const unmetered = "cannot limit the cost of CEL expressions: parts of the expression ran without being charged";

  test.for([
    ["a loop", "self.all(x, x > 0)", ignoreBoth],
    ["the body of a loop", "self.all(x, self.exists(y, x == y))", ignoreEvaluators],
    ["a loop whose errors are ignored", "self.exists(x, x > 5) || true", ignoreEvaluators],
    [
      "a long expression without loops",
      Array.from({ length: 20 }, () => "self == self").join(" && "),
      keepFirstHandlers,
    ],
    ["a loop in either branch", "has(self.x) ? self.all(x, x > 0) : self.all(x, x > 1)", ignoreBoth],
  ] as const)("stops a rule that runs %s without being charged", ([, rule, change]) => {
    change();
    const compilation = compile(rule, "bool");
    const run = () => "program" in compilation && compilation.program.run({ self: [1n, 2n, 3n] }, new Budget());
    expect(run).toThrow(new MeteringError());
    expect(new MeteringError().message).toBe(unmetered);
  });

  test("refuses an object if one rule was not charged, even if the others hold", () => {
    ignoreEvaluators();
    const rules = [{ rule: "self.all(x, x > 0)" }, { rule: "self.size() < 5" }];
    const schema: StructuralSchema = {
      type: "object",
      properties: { v: { type: "array", items: { type: "integer" }, "x-kubernetes-validations": rules } },
    };
    expect(validate(schema, { v: [1, 2] }).map(formatFieldError)).toEqual([
      `v: Invalid value: "array": ${unmetered} evaluating rule: self.all(x, x > 0)`,
    ]);
  });

  test("accepts only macros that charge for themselves", () => {
    const environment = createRuntime()
      .environment.clone()
      .registerFunction("list.count(ast, ast): int", () => ({
        async: false,
        typeCheck: (checker: { getType(name: string): unknown }) => checker.getType("int"),
        evaluate: () => 1n,
      }));
    const parsed = environment.parse("self.count(x, x > 1)");
    expect(parsed.check()).toMatchObject({ valid: true });
    expect(meter(parsed.ast)).toEqual({
      error: 'the CEL library has changed: it evaluates "rcall" in an unknown way',
    });
  });
});
