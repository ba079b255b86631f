import { expect, test } from "vitest";
import { KeptValues } from "./kept-values.ts";

test("keeps values up to a size, and those that still fit", () => {
  const values = new KeptValues();
  const large = { "text/plain": "x".repeat(4_000_000) };
  const small = { "text/plain": "x" };
  for (const value of [large, large, large, small]) values.add(value);
  values.drop();
  expect([values.kept, values.dropped]).toEqual([[large, large, small], 2]);
});

test("keeps 32 values", () => {
  const values = new KeptValues();
  for (let count = 0; count < 40; count++) values.add({ "text/plain": String(count) });
  expect([values.kept.length, values.dropped]).toEqual([32, 8]);
});
