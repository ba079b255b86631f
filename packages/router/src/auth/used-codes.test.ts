import { expect, test } from "vitest";
import { UsedCodes } from "./used-codes.ts";

const outcome = (codes: UsedCodes, ns: string, id: string, nowSeconds = 0): string => {
  try {
    codes.use({ ns, id, exp: nowSeconds + 60 }, nowSeconds);
    return "used";
  } catch (error) {
    return (error as { reason: string }).reason;
  }
};

test("a login link can be used once", () => {
  const codes = new UsedCodes();
  expect([outcome(codes, "a", "1"), outcome(codes, "a", "1"), outcome(codes, "a", "2")]).toEqual([
    "used",
    "Unauthenticated",
    "used",
  ]);
});

test("many logins of one namespace neither evict used links nor block other namespaces", () => {
  const codes = new UsedCodes(10);
  outcome(codes, "victim", "mine");
  const flood = Array.from({ length: 20 }, (_, index) => outcome(codes, "attacker", `x${index}`));
  expect(flood.filter((answer) => answer === "used")).toHaveLength(5);
  expect(outcome(codes, "victim", "mine")).toBe("Unauthenticated");
  expect(outcome(codes, "victim", "other")).toBe("used");
});

test("expired links free their share", () => {
  const codes = new UsedCodes(2);
  expect([outcome(codes, "a", "1"), outcome(codes, "a", "2"), outcome(codes, "a", "3", 60)]).toEqual([
    "used",
    "TooManyLogins",
    "used",
  ]);
});
