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

test("the total is never exceeded", () => {
  const share = new FairShare(10);
  const counts = Array.from({ length: 50 }, (_, index) => takeAll(share, `tenant ${index}`));
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10);
});

test("a held share is returned once, and mostOf() is what a tenant may hold", () => {
  const share = new FairShare(4);
  expect(share.mostOf("a")).toBe(2);
  const held = share.hold("a");
  share.hold("a");
  expect([share.hold("a"), share.mostOf("a"), share.mostOf("b")]).toEqual([undefined, 2, 1]);
  held?.[Symbol.dispose]();
  held?.[Symbol.dispose]();
  expect([takeAll(share, "a"), share.taken]).toEqual([1, 2]);
});

test("0 means no limit", () => {
  expect(takeAll(new FairShare(0), "a")).toBe(1000);
});
