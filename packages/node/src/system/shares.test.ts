import { expect, test } from "vitest";
import { Shares } from "./shares.ts";

const takeAll = (shares: Shares, key: string): Disposable[] => {
  const taken: Disposable[] = [];
  for (let one = shares.take(key); one !== undefined; one = shares.take(key)) taken.push(one);
  return taken;
};

test("a key that takes all it can leaves places for the next, and so does the next", () => {
  const shares = new Shares(100);
  expect(["a", "b", "c", "d"].map((key) => takeAll(shares, key).length)).toEqual([50, 25, 13, 6]);
  expect(shares.take("a")).toBeUndefined();
});

test("no more than the total is ever held", () => {
  const shares = new Shares(10);
  const counts = Array.from({ length: 50 }, (_, index) => takeAll(shares, `key ${index}`).length);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10);
});

test("what is given back can be taken again; giving back twice counts once", () => {
  const shares = new Shares(4);
  const [first] = takeAll(shares, "a");
  expect(shares.take("a")).toBeUndefined();
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  expect(takeAll(shares, "a")).toHaveLength(1);
});
