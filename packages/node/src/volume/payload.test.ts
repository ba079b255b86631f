import { expect, test } from "vitest";
import { isPayloadPath, type Payload, payloadOf } from "./payload.ts";

const content = new Map([
  ["a", Buffer.from("1")],
  ["b", Buffer.from("2")],
]);
const texts = (payload: Payload): object =>
  Object.fromEntries([...payload].map(([path, file]) => [path, [file.content.toString(), file.mode.toString(8)]]));
const base = { from: 'configmap "c"', content, items: undefined, defaultMode: 0o644, optional: false };

test("a volume has all keys, or the listed items at their paths", () => {
  expect(texts(payloadOf(base))).toEqual({ a: ["1", "644"], b: ["2", "644"] });
  const items = [{ key: "b", path: "deep/b", mode: 0o400 }];
  expect(texts(payloadOf({ ...base, items }))).toEqual({ "deep/b": ["2", "400"] });
});

test("a missing object or key is an error unless it is optional", () => {
  const items = [{ key: "z", path: "z" }];
  expect(() => payloadOf({ ...base, content: undefined })).toThrow('configmap "c" not found');
  expect(() => payloadOf({ ...base, items })).toThrow('references non-existent configmap "c" key: z');
  expect(payloadOf({ ...base, content: undefined, optional: true }).size).toBe(0);
  expect(payloadOf({ ...base, items, optional: true }).size).toBe(0);
});

test.for(["../escape", "..data", "/etc/passwd"])("the key %j is refused as a file name", (key) => {
  const hostile = new Map([[key, Buffer.from("x")]]);
  expect(() => payloadOf({ ...base, content: hostile })).toThrow("has a key that is not a valid file name");
});

test.for([
  ["file", true],
  ["a/b/c", true],
  [".hidden", true],
  ["a..b", true],
  ["", false],
  ["/etc/passwd", false],
  ["../x", false],
  ["a/../../x", false],
  ["..data", false],
  ["..x/y", false],
  ["a//b", false],
  ["a/./b", false],
  ["a\0b", false],
  [7, false],
] as const)("%j may be a path below a volume: %s", ([path, expected]) => {
  expect(isPayloadPath(path)).toBe(expected);
});
