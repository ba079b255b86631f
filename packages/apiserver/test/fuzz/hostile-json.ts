import type { Random } from "./random.ts";

const deep = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

const nasty: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 1.5,
  () => 2 ** 53,
  () => -(2 ** 63),
  () => 1e308,
  () => "",
  () => "a",
  () => "\u0000",
  () => "\ud800",
  () => "😀".repeat(50),
  () => "../../etc/passwd",
  () => "x".repeat(70_000),
  () => "9".repeat(400),
  () => "1e999999999",
  () => "2024-02-30T25:61:61Z",
  () => "%00%ff%2e",
  () => "__proto__",
  () => [],
  () => ({}),
  () => [[[[]]]],
  () => ({ "": "" }),
  () => JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}') as unknown,
  () => ({ $patch: "delete" }),
  () => ({
    "$setElementOrder/containers": [{ name: "x" }],
    $retainKeys: ["a"],
    "$deleteFromPrimitiveList/finalizers": [1],
  }),
  () => Array.from({ length: 2000 }, (_, index) => index),
  () => Array.from({ length: 300 }, () => ({ name: "same" })),
  () => Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, index])),
  () => deep(99),
  () => deep(101),
  () => deep(400),
];

export function hostileValue(random: Random): unknown {
  return random.pick(nasty)();
}

/** The value with some parts replaced, removed, duplicated or renamed. */
export function mutated(random: Random, value: unknown, changes: number): unknown {
  let result = structuredClone(value);
  for (let made = 0; made < changes; made++) result = mutatedOnce(random, result);
  return result;
}

function mutatedOnce(random: Random, value: unknown): unknown {
  if (typeof value !== "object" || value === null || random.chance(0.15)) return hostileValue(random);
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object);
  const key = keys.length === 0 ? "new" : random.pick(keys);
  if (random.chance(0.6) && keys.length > 0) {
    object[key] = mutatedOnce(random, object[key]);
    return object;
  }
  return changedShape(random, object, key);
}

function changedShape(random: Random, object: Record<string, unknown>, key: string): unknown {
  switch (random.below(4)) {
    case 0:
      delete object[key];
      return object;
    case 1:
      if (Array.isArray(object)) object.push(...(object as unknown[]).slice(0, 50));
      else object[`${key}2`] = object[key];
      return object;
    case 2:
      object[random.pick(["metadata", "spec", "status", "apiVersion", "kind", "items", "name", "labels"])] =
        hostileValue(random);
      return object;
    default:
      return Array.isArray(object) ? Object.fromEntries(Object.entries(object)) : Object.values(object);
  }
}
