import { expect, test } from "vitest";
import { OutputCleaner } from "./clean-output.ts";

test("characters that reorder, hide or break lines are replaced; escape sequences and other text stay", () => {
  const cleaner = new OutputCleaner();
  expect(cleaner.clean("a\u202eb\u2066c\u200bd\u2028e\ufefff\u{e0041}g")).toBe(
    "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg",
  );
  const kept = "\u001b[31mred\u001b[0m\r\n\tüber \u{1f469}\u200d\u{1f680} \ue0b0 日本語";
  expect(cleaner.clean(kept)).toBe(kept);
});

test("a character has at most 16 combining marks, also if they arrive one by one", () => {
  const cleaner = new OutputCleaner();
  expect(cleaner.clean(`e${"\u0301".repeat(1000)}x`)).toBe(`e${"\u0301".repeat(16)}x`);
  const pieces = Array.from({ length: 100 }, () => cleaner.clean("\u0301"));
  expect(pieces.join("")).toBe("\u0301".repeat(16));
  expect(cleaner.clean("a\u0301")).toBe("a\u0301");
});
