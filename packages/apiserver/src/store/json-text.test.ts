import { expect, test } from "vitest";
import { jsonText, rememberJson } from "./json-text.ts";

test("gives the text that was made for an object, and makes one for any other value", () => {
  const object = { a: 1 };
  rememberJson(object, '{"a": 1}');
  expect(jsonText(object)).toBe('{"a": 1}');
  expect(jsonText({ a: 1 })).toBe('{"a":1}');
  expect(jsonText(null)).toBe("null");
});

test("forgets the oldest when there are many", () => {
  const objects = Array.from({ length: 1025 }, (_, at) => ({ at }));
  for (const object of objects) rememberJson(object, "remembered");
  expect(jsonText(objects[0])).toBe('{"at":0}');
  expect(jsonText(objects[1])).toBe("remembered");
});

test("forgets the oldest when they are large, and never takes one that is larger than all may be", () => {
  const large = "x".repeat(3 * 1024 * 1024);
  const [first, second, third] = [{ at: 1 }, { at: 2 }, { at: 3 }];
  rememberJson(first, large);
  rememberJson(second, large);
  rememberJson(third, large + large);
  expect([first, second, third].map((each) => jsonText(each).length)).toEqual([8, large.length, 8]);
});
