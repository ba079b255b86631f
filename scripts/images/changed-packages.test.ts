import { expect, test } from "vitest";
import { changedPackages } from "./changed-packages.ts";

test("names new, removed and updated packages, in the order of their names", () => {
  const before = ["curl=7.88.1-10", "jq=1.6-2.1", "git=1:2.39.5-0+deb12u2"];
  const after = ["git=1:2.39.5-0+deb12u3", "curl=7.88.1-10", "tini=0.19.0-1"];
  expect(changedPackages(before, after)).toEqual([
    "git 1:2.39.5-0+deb12u2 → 1:2.39.5-0+deb12u3",
    "jq 1.6-2.1 → (removed)",
    "tini (new) → 0.19.0-1",
  ]);
});

test("equal lists have no changes", () => {
  expect(changedPackages(["jq=1.6-2.1"], ["jq=1.6-2.1"])).toEqual([]);
});
