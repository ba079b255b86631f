import { expect, test } from "vitest";
import { duplicateFields } from "./duplicate-fields.ts";

test.for<[string, string[]]>([
  ["{}", []],
  ["[1, 2]", []],
  ['"text"', []],
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}', []],
  ['{"kind":"A", "kind" : "B"}', ["kind"]],
  ['{"kind":1,"\\u006bind":2}', ["kind"]],
  ['{"a":{"b":[{"c":1},{"c":[],"d":"{,}","c":2}]}}', ["a.b[1].c"]],
  ['{"a":"x\\"y","a":"\\\\","a":3}', ["a"]],
  ['{"__proto__":1,"constructor":2,"constructor":3}', ["constructor"]],
  ['{"a":["x","x"],"b":"a"}', []],
])("%s repeats %j", ([text, expected]) => {
  expect(duplicateFields(text)).toEqual(expected);
});

test("reports a bounded number of duplicates", () => {
  const text = `{${Array.from({ length: 1000 }, (_, at) => `"a${at}":1,"a${at}":2`).join(",")}}`;
  expect(duplicateFields(text)).toHaveLength(20);
});
