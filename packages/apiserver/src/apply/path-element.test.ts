import { describe, expect, test } from "vitest";
import {
  compareElements,
  field,
  itemWithKey,
  itemWithValue,
  type PathElement,
  parseElement,
  renderPath,
} from "./path-element.ts";

const index = (at: number): PathElement => {
  const parsed = parseElement(`i:${at}`);
  if (!("element" in parsed)) throw new Error(JSON.stringify(parsed));
  return parsed.element;
};

describe("renderPath()", () => {
  test.for<[string, PathElement[]]>([
    [".spec.replicas", [field("spec"), field("replicas")]],
    [
      '.spec.containers[name="x"].image',
      [field("spec"), field("containers"), itemWithKey({ name: "x" }), field("image")],
    ],
    ['.ports[port=80,protocol="TCP"]', [field("ports"), itemWithKey({ protocol: "TCP", port: 80 })]],
    ['.finalizers[="a/b"]', [field("finalizers"), itemWithValue("a/b")]],
    [".weights[=3][=true][=1.5]", [field("weights"), itemWithValue(3), itemWithValue(true), itemWithValue(1.5)]],
    [".args[2]", [field("args"), index(2)]],
    ['.x[="say \\"hi\\"\\n\\x01\\u200b\\U000e0001é"]', [field("x"), itemWithValue('say "hi"\n\u0001\u200b\u{e0001}é')]],
    ['.x[=null][=["a",1]][=b=2]', [field("x"), itemWithValue(null), itemWithValue(["a", 1]), itemWithValue({ b: 2 })]],
  ])("%s", ([expected, path]) => {
    expect(renderPath(path)).toBe(expected);
  });
});

describe("element ids", () => {
  test.for<[string, PathElement]>([
    ["f:", field("")],
    ["f:a.b/c", field("a.b/c")],
    ['k:{"name":"x","port":80}', itemWithKey({ port: 80, name: "x" })],
    ['v:"a\\u003cb\\u003e\\u0026\\u2028"', itemWithValue("a<b>&\u2028")],
    ['v:"\\u0008\\u000c\\t\\\\b\\""', itemWithValue('\b\f\t\\b"')],
    ["v:true", itemWithValue(true)],
    ['v:{"a":[1,null],"b":2}', itemWithValue({ b: 2, a: [1, null] })],
    ["i:7", index(7)],
  ])("%s is encoded and decoded", ([id, element]) => {
    expect(element.id).toBe(id);
    expect(parseElement(id)).toEqual({ element });
  });

  test("key fields and numbers have a canonical form", () => {
    expect(parseElement('k:{"b":1.0,"a":2}')).toEqual({ element: itemWithKey({ a: 2, b: 1 }) });
    expect(parseElement('v:"\\u0061"')).toEqual({ element: itemWithValue("a") });
  });

  test.for(["", "f", "fx", "x", "k:[1]", "k:1", "k:{", "v:", "v:{", "i:x", "i:", "i:1.5", `i:${"9".repeat(30)}`])(
    "refuses %j",
    (text) => {
      expect(parseElement(text)).toHaveProperty("problem");
    },
  );

  test("reports unknown kinds of elements", () => {
    expect(parseElement("z:later")).toEqual({ unknown: true });
  });

  test("a key field may be called __proto__", () => {
    const parsed = parseElement('k:{"__proto__":1}');
    expect(parsed).toHaveProperty("element.id", 'k:{"__proto__":1}');
    expect({}).not.toHaveProperty("polluted");
  });
});

test("elements are sorted by kind, and then as Kubernetes sorts their content", () => {
  const ordered = [
    field("B"),
    field("a"),
    field("\uffff"),
    field("\u{10000}"),
    itemWithKey({ a: 1 }),
    itemWithKey({ a: 1, b: 1 }),
    itemWithKey({ a: 2 }),
    itemWithKey({ a: "1" }),
    itemWithKey({ b: 0 }),
    itemWithValue(2),
    itemWithValue(10),
    itemWithValue("10"),
    itemWithValue("2"),
    itemWithValue(false),
    itemWithValue(true),
    itemWithValue([1]),
    itemWithValue([1, 0]),
    itemWithValue({ a: 1 }),
    itemWithValue(null),
    index(2),
    index(10),
  ];
  expect(ordered.toReversed().sort(compareElements)).toEqual(ordered);
  for (const element of ordered) expect(compareElements(element, element)).toBe(0);
});
