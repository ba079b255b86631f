import { expect, test } from "vitest";
import { formatAge, formatBytes } from "./format-amounts.ts";

test.for([
  [0, "0B"],
  [1023, "1023B"],
  [1024, "1.0KiB"],
  [150 * 2 ** 20, "150MiB"],
  [2 ** 60, "1048576TiB"],
] as const)("%s bytes", ([bytes, expected]) => {
  expect(formatBytes(bytes)).toBe(expected);
});

test.for([
  [-5, "0s"],
  [119_000, "119s"],
  [120_000, "2m"],
  [7_200_000, "2h"],
  [172_800_000, "2d"],
] as const)("%s ms", ([ms, expected]) => {
  expect(formatAge(ms)).toBe(expected);
});
