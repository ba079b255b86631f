import { describe, expect, test } from "vitest";
import { Interner } from "../interner.ts";
import { summary, typeProblems } from "./check-type.ts";
import { deducedType, objectType } from "./field-type.ts";
import { widget, widgetSchema } from "./widget.test.support.ts";

const type = objectType(widgetSchema);

describe("typeProblems()", () => {
  test.for<[unknown, string[]]>([
    [{ replicas: 1, size: 3, free: { any: [1, { x: null }] }, labels: null, zones: ["a"] }, []],
    [{ replicas: "1" }, [".spec.replicas: expected numeric (int or float), got string"]],
    [{ title: 1 }, [".spec.title: expected string, got &value.valueUnstructured{Value:1}"]],
    [
      { title: { a: "x" } },
      ['.spec.title: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":"x"}}'],
    ],
    [{ paused: "yes" }, [".spec.paused: expected boolean, got &{yes}"]],
    [{ labels: ["a", 1] }, [".spec.labels: expected map, got &{[a 1]}"]],
    [{ labels: { a: 1 } }, [".spec.labels.a: expected string, got &value.valueUnstructured{Value:1}"]],
    [{ zones: { a: 1, b: null } }, [".spec.zones: expected list, got &{map[a:1 b:<nil>]}"]],
    [{ unknown: 1 }, [".spec.unknown: field not declared in schema"]],
    [{ args: ["a", 1] }, [".spec.args[1]: expected string, got &value.valueUnstructured{Value:1}"]],
    [{ zones: ["a", "b", "a"] }, ['.spec.zones: duplicate entries for key [="a"]']],
    [{ zones: [{}] }, [".spec.zones: element 0: associative list without keys has an element that's a map type"]],
    [{ zones: [[]] }, [".spec.zones: element 0: not supported: associative list with lists as elements"]],
    [
      { zones: [null] },
      [".spec.zones: element 0: associative list without keys has an element that's an explicit null"],
    ],
    [{ containers: ["a"] }, [".spec.containers: element 0: associative list with keys may not have non-map elements"]],
    [{ containers: [null] }, [".spec.containers: element 0: associative list with keys may not have a null element"]],
    [
      { containers: [{ image: "i" }] },
      [
        '.spec.containers: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)',
      ],
    ],
    [
      { containers: [{ name: "c", image: 1 }, { name: "c" }] },
      [
        '.spec.containers[name="c"].image: expected string, got &value.valueUnstructured{Value:1}',
        '.spec.containers: duplicate entries for key [name="c"]',
      ],
    ],
  ])("%j", ([spec, expected]) => {
    expect(typeProblems({ spec }, type)).toEqual(expected);
  });

  test("allows duplicate items in stored objects", () => {
    expect(typeProblems({ spec: { zones: ["a", "a"] } }, type, { allowDuplicates: true })).toEqual([]);
  });

  test("gives the same answer for an interned spec each time", () => {
    const interner = new Interner();
    for (const spec of [{ replicas: 1 }, { replicas: "1" }]) {
      const object = { ...widget({}), spec: interner.intern(spec) };
      const answers = [1, 2].map(() => typeProblems(object, type, { allowDuplicates: true, interner }));
      expect(answers).toEqual([typeProblems(object, type), typeProblems(object, type)]);
    }
  });

  test("limits the nesting and the number of problems", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 20_000; level += 1) deep = { a: deep };
    expect(typeProblems(deep, deducedType)).toEqual([`${".a".repeat(100)}: nested deeper than 100 levels`]);
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`x${at}`, 1]));
    expect(typeProblems({ spec: many }, type)).toHaveLength(100);
  });

  test("joins several problems into one message", () => {
    expect(summary(["a: b"])).toBe("a: b");
    expect(summary(["a: b", "c: d"])).toBe("errors:\n  a: b\n  c: d");
  });
});
