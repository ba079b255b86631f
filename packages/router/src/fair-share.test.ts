import { expect, test } from "vitest";
import { FairShare } from "./fair-share.ts";

const takeAll = (share: FairShare, tenant: string): number => {
  let taken = 0;
  while (taken < 1000 && share.take(tenant)) taken += 1;
  return taken;
};

test("each tenant gets at most half of what is left", () => {
  const share = new FairShare(120);
  expect(["a", "b", "c", "d", "e", "f"].map((tenant) => takeAll(share, tenant))).toEqual([60, 30, 15, 8, 4, 2]);
  expect(share.take("next")).toBe(true);
});

test("a returned share can be used by others, and tenants without a share are forgotten", () => {
  const share = new FairShare(10);
  takeAll(share, "a");
  expect(share.take("b", 6)).toBe(false);
  share.giveBack("a", 5);
  expect([share.take("b", 5), share.take("b"), share.tenants]).toEqual([true, false, 1]);
  share.giveBack("b", 5);
  expect([share.taken, share.tenants]).toEqual([0, 0]);
});

test("0 means no limit", () => {
  expect(takeAll(new FairShare(0), "a")).toBe(1000);
});
