import { expect, test } from "vitest";
import { currentTable, figuresOf, figuresTable, readReadme, withFigures } from "./measured-figures.ts";

test("figures are found by suite and name", () => {
  const text =
    "# Results\n\n## api\n\n| figure | value |\n|---|---:|\n| p50_ms | 1.25 |\n\n## node\n\n| p50_ms | 3 |\n";
  expect([...figuresOf(text)]).toEqual([
    ["api/p50_ms", 1.25],
    ["node/p50_ms", 3],
  ]);
});

test("a figure that was not measured is an error", () => {
  expect(() => figuresTable(new Map())).toThrow("bench/RESULTS.md has no sdk/ready_ts_p50_ms");
});

test("only the table is replaced", () => {
  const text = "a\n<!-- figures: x -->\nold\n<!-- end of figures -->\nb\n";
  expect(withFigures(text, "| new |\n")).toBe("a\n<!-- figures: x -->\n\n| new |\n\n<!-- end of figures -->\nb\n");
  expect(() => withFigures("a\n", "")).toThrow("no place");
});

test("the README has the figures of bench/RESULTS.md", () => {
  expect(withFigures(readReadme(), currentTable())).toBe(readReadme());
});
