import { expect, test } from "vitest";
import { FairSlots } from "./fair-slots.ts";

const takeAll = (slots: FairSlots, key: string): Disposable[] => {
  const taken: Disposable[] = [];
  for (let one = slots.take(key); one !== undefined; one = slots.take(key)) taken.push(one);
  return taken;
};

test("a key that takes all it can leaves slots for the next", () => {
  const slots = new FairSlots(100);
  expect(["a", "b", "c", "d"].map((key) => takeAll(slots, key).length)).toEqual([50, 25, 13, 6]);
  expect(slots.take("a")).toBeUndefined();
});

test("the total is never exceeded", () => {
  const slots = new FairSlots(10);
  const counts = Array.from({ length: 50 }, (_, index) => takeAll(slots, `key ${index}`).length);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10);
});

test("a released slot can be taken again, and releasing twice counts once", () => {
  const slots = new FairSlots(4);
  const [first] = takeAll(slots, "a");
  expect(slots.take("a")).toBeUndefined();
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  expect(takeAll(slots, "a")).toHaveLength(1);
});
