import { describe, expect, test } from "vitest";
import { formatBytes } from "../../components/format.ts";
import { nearest, pathsOf, scaleOf, summaryOf } from "./plot-scale.ts";

const mebi = 1024 ** 2;

describe("the scale of a plot", () => {
  test.for([
    [0, "cores", 0.001],
    [0.03, "cores", 0.03],
    [0.9, "cores", 1],
    [1, "cores", 1],
    [4.1, "cores", 6],
    [0, "bytes", 1024],
    [37 * mebi, "bytes", 48 * mebi],
    [250 * mebi, "bytes", 256 * mebi],
    [1000 * mebi, "bytes", 1024 * mebi],
    [1024 * mebi, "bytes", 1024 * mebi],
    [1100 * mebi, "bytes", 1152 * mebi],
    [3 * 1024 * mebi, "bytes", 3 * 1024 * mebi],
  ] as const)("for %d %s reaches %d", ([highest, unit, top]) => {
    const scale = scaleOf(highest, unit);
    expect(scale.top).toBeCloseTo(top, 8);
    expect(scale.top).toBeGreaterThanOrEqual(highest - 1e-9);
    expect(scale.ticks[0]).toBe(0);
    expect(scale.ticks.at(-1)).toBe(scale.top);
    expect(scale.ticks.length).toBeGreaterThan(1);
    expect(scale.ticks.length).toBeLessThanOrEqual(6);
  });

  test("has ticks that are written without a rest", () => {
    expect(scaleOf(1024 ** 3, "bytes").ticks.map(formatBytes)).toEqual([
      "0 B",
      "256 MiB",
      "512 MiB",
      "768 MiB",
      "1.0 GiB",
    ]);
  });
});

describe("a plot", () => {
  const frame = { from: 0, to: 100_000, top: 10 };

  test("is a line between samples, with gaps where nothing was measured", () => {
    const samples = [0, 5000, 60_000].map((at) => ({ at, value: 5 }));
    expect(pathsOf(samples, frame)).toEqual({
      line: "M0.00 50.00L5.00 50.00M59.00 50.00L60.00 50.00",
      area: "M0.00 50.00L5.00 50.00L5.00 100L0.00 100ZM59.00 50.00L60.00 50.00L60.00 100L59.00 100Z",
    });
  });

  test("without samples is empty, and values above the scale are at its top", () => {
    expect(pathsOf([], frame)).toEqual({ line: "", area: "" });
    const steep = [0, 5000].map((at) => ({ at, value: 99 }));
    expect(pathsOf(steep, frame).line).toBe("M0.00 0.00L5.00 0.00");
  });

  test("has numbers", () => {
    const samples = [1, 5, 3].map((value, index) => ({ at: index, value }));
    expect(summaryOf(samples)).toEqual({ now: 3, average: 3, highest: 5 });
    expect(summaryOf([])).toBeUndefined();
    expect([nearest(samples, 0.6)?.at, nearest(samples, -9)?.at, nearest([], 1)]).toEqual([1, 0, undefined]);
  });
});
