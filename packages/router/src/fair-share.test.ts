import { expect, test } from "vitest";
import { FairShare } from "./fair-share.ts";

const takeAll = (share: FairShare, tenant: string): number => {
  let taken = 0;
  while (taken < 1000 && share.take(tenant)) taken += 1;
  return taken;
};

test("each greedy tenant leaves as much for the next as it has", () => {
  const share = new FairShare(120);
  expect(["a", "b", "c", "d", "e", "f"].map((tenant) => takeAll(share, tenant))).toEqual([60, 30, 15, 8, 4, 2]);
  expect(share.take("next")).toBe(true);
});

test("what is given back can be taken by others, and who has nothing is forgotten", () => {
  const share = new FairShare(10);
  takeAll(share, "a");
  expect(share.take("b", 6)).toBe(false);
  share.giveBack("a", 5);
  expect([share.take("b", 5), share.take("b"), share.tenants]).toEqual([true, false, 1]);
  share.giveBack("b", 5);
  expect([share.taken, share.tenants]).toEqual([0, 0]);
});

test("without a limit everybody gets what they want", () => {
  expect(takeAll(new FairShare(0), "a")).toBe(1000);
});
