import { describe, expect, test } from "vitest";
import { compileJsonPath } from "./json-path.ts";

const object = {
  spec: { replicas: 3, "odd.key": 1, list: [{ a: 1 }, { a: 2 }] },
  status: {
    conditions: [
      { type: "Other", status: "x" },
      { type: "Ready", status: "True", nested: { ok: true } },
    ],
  },
};

describe("compileJsonPath()", () => {
  test.for([
    [".spec.replicas", [3]],
    ["{.spec.replicas}", [3]],
    [".spec['odd.key']", [1]],
    [".spec.list[1].a", [2]],
    [".spec.list[-1].a", [2]],
    [".spec.list[*].a", [1, 2]],
    [".status.conditions[?(@.type=='Ready')].status", ["True"]],
    ['.status.conditions[?(@.type == "Ready")].status', ["True"]],
    [".status.conditions[?(@.nested.ok==true)].type", ["Ready"]],
    [".status.conditions[?(@.type=='None')].status", []],
    [".missing.deep", []],
    [".constructor", []],
    [".spec.list[9]", []],
  ] as const)("%s", ([path, expected]) => {
    expect(compileJsonPath(path)?.(object)).toEqual(expected);
  });

  test.for([".a[", ".a..b", ".a[?(@.b>1)]", "$"])("does not support %s", (path) => {
    expect(compileJsonPath(path)).toBeUndefined();
  });
});
