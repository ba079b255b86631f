import { describe, expect, test } from "vitest";
import { parseFieldSelector } from "./field-selector.ts";

const values = { "metadata.name": "a", "status.phase": "Running", odd: "x,y=z\\" };

describe("parseFieldSelector()", () => {
  test.for([
    ["", true],
    ["metadata.name=a", true],
    ["metadata.name==a,status.phase!=Pending", true],
    ["metadata.name!=a", false],
    ["spec.nodeName=", true],
    ["spec.nodeName!=", false],
    ["odd=x\\,y\\=z\\\\", true],
  ] as const)("%s → %s", ([text, expected]) => {
    const parsed = parseFieldSelector(text);
    expect("selector" in parsed && parsed.selector.matches(values)).toBe(expected);
  });

  test.for(["metadata.name", "=a", "a=b=c", "a=b\\", "a=b\\x", "a in (b)"])("refuses %s", (text) => {
    expect(parseFieldSelector(text)).toHaveProperty("problem");
  });

  test("lists the fields that the selector names", () => {
    const parsed = parseFieldSelector("a=1,b!=2");
    expect("selector" in parsed && parsed.selector.fields).toEqual(["a", "b"]);
  });
});
