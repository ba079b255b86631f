import { expect, test } from "vitest";
import { matchesOutput } from "./compare-output.ts";

test.for([
  ["the same text", "a\nb\n", "a\nb\n", true],
  ["another text", "a\n", "b\n", false],
  ["a missing line", "a\nb\n", "a\n", false],
  ["an additional line", "a\n", "a\nb\n", false],
  ["any text for an ellipsis", "sandbox-… deleted\n", "sandbox-x7k2 deleted\n", true],
  ["one line for an ellipsis", "a … b\n", "a\nb\n", false],
  ["any lines for a line with an ellipsis", "a\n…\nz\n", "a\nb\nc\nz\n", true],
  ["no line for a line with an ellipsis", "a\n…\n", "a\n", true],
  ["other columns", "NAME   AGE\nweb    5s\n", "NAME        AGE\nweb         2m10s\n", true],
  ["another name in a column", "NAME   AGE\nweb    5s\n", "NAME        AGE\nwob         5s\n", false],
  ["other sizes", "kept 6.7MiB\n", "kept 41MiB\n", true],
  ["other numbers", "42\n", "43\n", false],
  ["other numbers in names", "v1beta1\n", "v1beta2\n", false],
  ["other times", "since 2026-01-02T03:04:05Z\n", "since 2026-11-16T20:00:00.123Z\n", true],
  ["characters of patterns", "a.b (c) [d]*\n", "a.b (c) [d]*\n", true],
  ["characters that patterns would match", "a.b\n", "axb\n", false],
] as const)("%s", ([, expected, output, matches]) => {
  expect(matchesOutput(expected, output)).toBe(matches);
});
