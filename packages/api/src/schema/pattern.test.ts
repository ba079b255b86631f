import { describe, expect, test } from "vitest";
import { findAll, isPattern, matchesPattern } from "./pattern.ts";
import { patternSize } from "./pattern-size.ts";

describe("patternSize()", () => {
  test.for([
    ["", 0],
    ["abc", 3],
    ["a{3}", 3],
    ["a{2,5}", 5],
    ["a{2,}", 2],
    ["(ab){3}", 6],
    ["((ab){3}c){2}", 14],
    ["[a-z]{4}", 4],
    ["[]a]{4}", 4],
    ["[^\\]]{4}", 4],
    ["\\p{Greek}{4}", 4],
    ["\\{{3}", 3],
    ["a{x}", 4],
    ["(((", 0],
    [")))", 0],
    ["(a{1000}){1000}", 1_000_000],
  ] as const)("of %s", ([pattern, size]) => expect(patternSize(pattern)).toBe(size));
});

describe("patterns", () => {
  test.for(["a{1000}".repeat(1000), "a".repeat(60_000), "(a|b)".repeat(20_000)])(
    "that would take seconds to compile are none",
    (pattern) => {
      expect(isPattern(pattern)).toBe(false);
      expect(matchesPattern(pattern, "a")).toBe(false);
    },
  );

  test("are compiled again after many others", () => {
    for (let at = 0; at < 30; at++) expect(matchesPattern(`^${`a{${900 + at}}`.repeat(10)}$`, "b")).toBe(false);
    expect(matchesPattern("^a{3}$", "aaa")).toBe(true);
  });

  test("return at most the requested number of matches", () => {
    expect(findAll("[0-9]+", "1 22 333", 2)).toEqual(["1", "22"]);
    expect(findAll("x*", "ab", 10)).toEqual(["", "", ""]);
    expect(findAll("(", "ab", 10)).toEqual([]);
  });
});
