import { expect, test } from "vitest";
import type { KubeObject } from "../resource.ts";
import { Memories } from "./memories.ts";

test("a memory lasts as long as its object, by UID", () => {
  let next = 1;
  const memories = new Memories<KubeObject, number>(() => next++);
  const [first, second] = [{ metadata: { uid: "a" } }, { metadata: { uid: "b" } }];
  const follow = (old: KubeObject | undefined, object: KubeObject | undefined): void =>
    memories.follow({ deltas: [{ key: "default/x", old, new: object }] });
  follow(undefined, first);
  expect(memories.of("default/x", first)).toBe(1);
  memories.set("default/x", first, 10);
  expect(memories.of("default/x", first)).toBe(10);
  expect(memories.of("default/x", second)).toBe(2);
  // A pass over the first object may end after the second has taken its name.
  memories.set("default/x", first, 11);
  follow(first, undefined);
  expect(memories.of("default/x", second)).toBe(2);
  follow(second, undefined);
  memories.set("default/x", second, 12);
  expect(memories.size).toBe(0);
});

test("nothing is kept for a key without an object", () => {
  const memories = new Memories<KubeObject, string>((object) => object?.metadata?.uid ?? "none");
  expect(memories.of("default/x", undefined)).toBe("none");
  memories.set("default/x", undefined, "kept");
  expect([memories.of("default/x", undefined), memories.size]).toEqual(["none", 0]);
});
