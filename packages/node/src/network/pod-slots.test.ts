import { expect, test } from "vitest";
import { PodSlots, Rate } from "./pod-slots.ts";

test("a Pod and a namespace get no more slots than their limit", () => {
  const slots = new PodSlots({ total: 10, namespace: 4, pod: 2 });
  const taken = ["p1", "p1", "p1", "p2", "p2", "p3"].map((pod) => slots.take("a", pod) !== undefined);
  expect(taken).toEqual([true, true, false, true, true, false]);
});

test("a namespace without a slot gets one when all are in use", () => {
  const slots = new PodSlots({ total: 2, namespace: 2, pod: 2 });
  const first = slots.take("a", "p");
  slots.take("a", "p");
  expect([slots.take("b", "q"), slots.take("b", "q")].map((given) => given !== undefined)).toEqual([true, false]);
  first?.();
  first?.();
  expect(slots.take("b", "q")).toBeUndefined();
});

test("the rate limit of a namespace does not affect others", () => {
  let now = 0;
  const rate = new Rate(10, () => now);
  const asked = (namespace: string, times: number): number =>
    Array.from({ length: times }, () => rate.allows(namespace)).filter(Boolean).length;
  expect(asked("a", 100)).toBe(20);
  expect(asked("b", 5)).toBe(5);
  now = 1000;
  expect(asked("a", 100)).toBe(10);
});
