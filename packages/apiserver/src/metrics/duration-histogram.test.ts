import { Exposition, labelText } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { DurationHistogram } from "./duration-histogram.ts";

const lines = (histogram: DurationHistogram): string[] => {
  const to = new Exposition();
  histogram.write(to, "took_seconds", 'a="b"');
  return to.toString().trimEnd().split("\n");
};

test("a bucket counts durations up to its upper bound", () => {
  const histogram = new DurationHistogram();
  for (const seconds of [0, 0.0005, 0.0006, 60, 61]) histogram.observe(seconds);
  const written = lines(histogram);
  expect(written).toEqual(
    expect.arrayContaining([
      'took_seconds_bucket{a="b",le="0.0005"} 2',
      'took_seconds_bucket{a="b",le="0.001"} 3',
      'took_seconds_bucket{a="b",le="30"} 3',
      'took_seconds_bucket{a="b",le="60"} 4',
      'took_seconds_bucket{a="b",le="+Inf"} 5',
      'took_seconds_count{a="b"} 5',
    ]),
  );
  expect(Number(written.find((line) => line.startsWith("took_seconds_sum"))?.split(" ")[1])).toBeCloseTo(121.0011);
});

test("a histogram without observations is not written", () => {
  expect(lines(new DurationHistogram())).toEqual([""]);
});

test("quotes, backslashes and line breaks in labels are escaped", () => {
  expect(labelText({ name: 'a"b\\c\nd', empty: "" })).toBe('name="a\\"b\\\\c\\nd",empty=""');
});
