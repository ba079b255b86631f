import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { releaseNotes } from "./release-notes.ts";
import { version } from "./version.ts";

const changelog = `# Changelog

## Unreleased

- new

## [0.2.0] - 2026-12-01

### Added

- two

## 0.1.0 - 2026-11-01

- one

## 0.0.1
`;

describe("releaseNotes()", () => {
  test("returns the section of the version", () => {
    expect(releaseNotes(changelog, "0.2.0")).toEqual({ notes: "### Added\n\n- two" });
    expect(releaseNotes(changelog, "0.1.0")).toEqual({ notes: "- one" });
  });

  test("returns the unreleased section for a version without one, if asked to", () => {
    expect(releaseNotes(changelog, "0.3.0", { orUnreleased: true })).toEqual({ notes: "- new" });
    expect(releaseNotes(changelog, "0.1.0", { orUnreleased: true })).toEqual({ notes: "- one" });
  });

  test.for([
    ["a missing section", "0.3.0", 'CHANGELOG.md has no section "## 0.3.0"'],
    ["an empty section", "0.0.1", "CHANGELOG.md says nothing about 0.0.1"],
    ["a part of a version", "0.1", 'CHANGELOG.md has no section "## 0.1"'],
  ] as const)("%s is an error", ([, wanted, error]) => {
    expect(releaseNotes(changelog, wanted)).toEqual({ error });
  });
});

test("the changelog has notes for the current version", () => {
  const text = readFileSync(`${import.meta.dirname}/../CHANGELOG.md`, "utf8");
  expect(releaseNotes(text, version, { orUnreleased: true })).toHaveProperty("notes");
});
