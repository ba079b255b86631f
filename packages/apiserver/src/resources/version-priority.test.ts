import { expect, test } from "vitest";
import { compareVersions } from "./version-priority.ts";

test("stable versions come first, newer before older ones, and other names last", () => {
  const sorted = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
  expect(sorted.toReversed().sort(compareVersions)).toEqual(sorted);
});
