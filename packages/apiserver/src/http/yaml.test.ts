import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxYamlLength, parseYaml, toYaml } from "./yaml.ts";

describe("parseYaml()", () => {
  test.for([
    ["mode: 0644", { mode: 0o644 }],
    ["mode: 0o644", { mode: 0o644 }],
    ["on: yes", { true: true }],
    ["at: 2026-01-02", { at: "2026-01-02" }],
    ["port: 1:30", { port: "1:30" }],
    ["a: ~", { a: null }],
    ['{"a": [1, "b"]}', { a: [1, "b"] }],
  ] as const)("reads %j", ([text, value]) => {
    expect(parseYaml(text)).toEqual(value);
  });

  test.for([
    ["a: [1", "BadRequest"],
    ["a: 1\n---\nb: 2", "BadRequest"],
    ["a: .inf", "BadRequest"],
    ['"__proto__": 1', "BadRequest"],
    [`${"[".repeat(101)}${"]".repeat(101)}`, "Invalid"],
    ["a: 1\nb:\n  c: 1\n  c: 2", "BadRequest"],
    [`a: ${"x".repeat(maxYamlLength)}`, "RequestEntityTooLarge"],
    [
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [${"*a,".repeat(9)}]\nc: &c [${"*b,".repeat(9)}]\nd: [${"*c,".repeat(9)}]`,
      "BadRequest",
    ],
  ] as const)("refuses %j", ([text, reason]) => {
    expect(() => parseYaml(text)).toThrow(expect.objectContaining({ reason }));
  });

  // Comparing each key with all others would block the server for minutes.
  test("reads a map with as many keys as the size limit allows", () => {
    const keys = Array.from({ length: 12_000 }, (_, at) => `k${at}`);
    expect(Object.keys(parseYaml(`{${keys.map((key) => `${key}: v`).join(",")}}`) as object)).toEqual(keys);
  });

  test("reads what toYaml() writes", () => {
    const value = fc.jsonValue({ maxDepth: 4 }).filter((json) => !JSON.stringify(json).includes("__proto__"));
    fc.assert(
      fc.property(value, (json) => {
        const plain: unknown = JSON.parse(JSON.stringify(json));
        expect(parseYaml(toYaml(plain))).toEqual(plain);
      }),
    );
  });

  test("strings that look like other types stay strings", () => {
    const texts = [
      "yes",
      "0644",
      "0o7",
      "1e3",
      "null",
      "~",
      "2026-01-02",
      "1:30",
      "",
      " ",
      "-",
      "#",
      "a: b",
      "=",
      "<<",
    ];
    expect(parseYaml(toYaml(texts))).toEqual(texts);
  });
});
