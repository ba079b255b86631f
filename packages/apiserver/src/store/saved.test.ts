import { expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { ObjectCache } from "./object-cache.ts";
import { Saved } from "./saved.ts";

const pod = (name: string, labels: Record<string, string> = {}): ApiObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels },
});
const save = (cache: ObjectCache, object: ApiObject): Saved =>
  new Saved(cache, { revision: 1, key: "k", json: JSON.stringify(object) }, object);

function fill(cache: ObjectCache): void {
  for (let at = 0; at < 4096; at += 1) save(cache, pod(`later-${at}`));
}

test("returns the object that was saved until it is evicted, and an equal one after that", () => {
  const cache = new ObjectCache();
  const object = pod("first");
  const first = save(cache, object);
  expect(first.object).toBe(object);
  fill(cache);
  expect(first.object).not.toBe(object);
  expect(first.object).toEqual(object);
  expect(first.object).toBe(first.object);
});

test("keeps the labels of an object that is evicted", () => {
  const cache = new ObjectCache();
  const first = save(cache, pod("first", { of: "first" }));
  const { labels } = first;
  fill(cache);
  expect(first.labels).toBe(labels);
  expect(new Saved(cache, { revision: 1, key: "x", json: JSON.stringify(pod("x")) }).labels).toEqual({});
});

test("keeps few objects when they are large", () => {
  const cache = new ObjectCache();
  const object = pod("first", { large: "x".repeat(7 * 1024 * 1024) });
  const first = save(cache, object);
  save(cache, pod("next", object.metadata.labels));
  expect(first.object).not.toBe(object);
});

test("keeps objects of different stores apart", () => {
  const cache = new ObjectCache();
  const object = pod("first");
  const first = save(cache, object);
  fill(new ObjectCache());
  expect(first.object).toBe(object);
});
