import * as fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines, onlyChanges } from "./line-diff.ts";

const shown = (before: string, after: string): string[] =>
  diffLines(before, after).map(({ kind, text }) => `${kind[0]} ${text}`);

test("shows what was removed and added between the same lines", () => {
  expect(shown("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual(["s a", "r b", "a x", "s c", "s d", "a e"]);
});

test("contains both texts, whatever they are", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after);
      const without = (kind: string): string =>
        lines
          .filter((line) => line.kind !== kind)
          .map(({ text }) => text)
          .join("\n");
      expect([without("added"), without("removed")]).toEqual([before, after]);
    }),
  );
});

test("leaves out lines far from a change", () => {
  const before = Array.from({ length: 20 }, (_, index) => String(index)).join("\n");
  const lines = onlyChanges(diffLines(before, before.replace("10", "ten")), 1);
  expect(lines.map((line) => line?.text ?? "…")).toEqual(["…", "9", "10", "ten", "11", "…"]);
});
