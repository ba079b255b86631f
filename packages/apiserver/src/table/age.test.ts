import { expect, test } from "vitest";
import { ageOf } from "./age.ts";

const seconds = 1;
const minute = 60 * seconds;
const hour = 60 * minute;
const day = 24 * hour;

test.for([
  [0, "0s"],
  [119, "119s"],
  [2 * minute, "2m"],
  [9 * minute + 59, "9m59s"],
  [10 * minute + 30, "10m"],
  [179 * minute, "179m"],
  [3 * hour + 5 * minute, "3h5m"],
  [9 * hour, "9h"],
  [2 * day, "2d"],
  [7 * day + 3 * hour, "7d3h"],
  [100 * day, "100d"],
  [3 * 365 * day, "3y"],
  [9 * 365 * day, "9y"],
  [-5, "0s"],
] as const)("%d seconds are %s", ([age, expected]) => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  expect(ageOf(new Date(now - age * 1000).toISOString(), now)).toBe(expected);
});

test.for([undefined, "soon"])("the age of %s is unknown", (timestamp) => {
  expect(ageOf(timestamp, 0)).toBe("<unknown>");
});
