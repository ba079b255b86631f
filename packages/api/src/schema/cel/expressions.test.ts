import { describe, expect, test } from "vitest";
import { formatFieldError } from "../field-error.ts";
import type { Json, StructuralSchema } from "../structural-schema.ts";
import { validate } from "../validate.ts";
import { refused, ruleCases, selfSchema, truths } from "./expressions.test.support.ts";
import { ruleErrors } from "./rules.ts";

const schemaWith = (rule: string): StructuralSchema => ({
  type: "object",
  properties: { spec: { ...selfSchema, "x-kubernetes-validations": [{ rule }] } },
});

const errorsOf = (schema: StructuralSchema, spec: Json): string[] => validate(schema, { spec }).map(formatFieldError);

describe("CEL with Kubernetes' libraries", () => {
  test.for(truths)("%s", (rule) => {
    const schema = schemaWith(rule);
    expect(ruleErrors(schema)).toEqual([]);
    expect(errorsOf(schema, {})).toEqual([]);
  });
});

describe("rules about objects", () => {
  test.for(ruleCases)("$rule", ({ rule, holds, fails }) => {
    const schema = schemaWith(rule);
    expect(ruleErrors(schema)).toEqual([]);
    const failing = [...holds, ...fails].filter((spec) => errorsOf(schema, spec).length > 0);
    expect(failing).toEqual(fails);
  });
});

describe("rules that do not compile", () => {
  test.for(refused)("%s", (rule) => {
    expect(ruleErrors(schemaWith(rule))).toEqual([expect.stringContaining(`Cannot compile the rule "${rule}": `)]);
  });
});
