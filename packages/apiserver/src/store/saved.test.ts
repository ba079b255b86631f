import { expect, test } from "vitest";
import { jsonText, Saved } from "./saved.ts";

const pod = (name: string, labels: Record<string, string> = {}): Parameters<typeof Saved.of>[0] => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels },
});
const saved = (name: string): Saved => {
  const object = pod(name, { of: name });
  return Saved.of(object, { revision: 1, key: name, json: JSON.stringify(object) });
};

test("gives the object that was saved while it is new, and an equal one later", () => {
  const object = pod("first");
  const first = Saved.of(object, { revision: 1, key: "first", json: JSON.stringify(object) });
  expect(first.object).toBe(object);
  for (let at = 0; at < 4096; at += 1) saved(`later-${at}`);
  expect(first.object).not.toBe(object);
  expect(first.object).toEqual(object);
  expect(first.object).toBe(first.object);
});

test("knows the labels of objects it has let go", () => {
  const first = saved("first");
  const { labels } = first;
  for (let at = 0; at < 4096; at += 1) saved(`later-${at}`);
  expect(first.labels).toBe(labels);
  expect(new Saved({ revision: 1, key: "x", json: JSON.stringify(pod("x")) }).labels).toEqual({});
});

test("holds little, however large the objects are", () => {
  const object = pod("first", { large: "x".repeat(7 * 1024 * 1024) });
  const first = Saved.of(object, { revision: 1, key: "first", json: JSON.stringify(object) });
  const next = pod("next", object.metadata.labels);
  Saved.of(next, { revision: 2, key: "next", json: JSON.stringify(next) });
  expect(first.object).not.toBe(object);
});

test("has the text of what was saved a moment ago, and makes that of anything else", () => {
  const object = pod("first");
  Saved.of(object, { revision: 1, key: "first", json: "as it was saved" });
  expect(jsonText(object)).toBe("as it was saved");
  expect(jsonText({ ...object })).toBe(JSON.stringify(object));
  expect(jsonText(null)).toBe("null");
});

test("keeps an object that was saved once more when its first turn is over", () => {
  const object = pod("first");
  const [once, again] = [1, 2].map((revision) =>
    Saved.of(object, { revision, key: "first", json: `version ${revision}` }),
  );
  for (let at = 0; at < 4094; at += 1) saved(`later-${at}`);
  expect(again?.object).toBe(object);
  expect(jsonText(object)).toBe("version 2");
  expect(() => once?.object).toThrow(SyntaxError);
});
