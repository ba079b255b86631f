import { describe, expect, test } from "vitest";
import { chooseUnusable, type UnusableImage } from "./unusable-images.ts";

const image = (retiredAt: number, bytes = 0, namespace = "a"): UnusableImage => ({
  path: `${retiredAt}`,
  retiredAt,
  namespace,
  bytes,
});
const week = 7 * 24 * 3_600_000;
const removed = (images: readonly UnusableImage[], now = 100): number[] =>
  chooseUnusable(images, now, 1000).map(({ retiredAt }) => retiredAt);

describe("unusable images that are removed", () => {
  test.for([
    ["none within the limits", [image(1, 500), image(2, 500)], []],
    ["the oldest beyond the bytes of a namespace", [image(1, 10), image(2, 600), image(3, 500)], [1, 2]],
    ["none of another namespace", [image(1, 600, "b"), image(2, 600), image(3, 600)], [2]],
    ["the oldest beyond the bytes of all", [image(1, 900, "c"), image(2, 900, "b"), image(3, 900)], [1]],
    ["one that is too large alone, and no other namespace's", [image(1, 900, "b"), image(2, 5000)], [2]],
    ["the oldest of nine", Array.from({ length: 9 }, (_, index) => image(index)), [0]],
    ["none of nothing", [], []],
  ] as const)("%s", ([, images, expected]) => {
    expect(removed(images)).toEqual(expected);
  });

  test("those that are older than a week", () => {
    expect(removed([image(1), image(2)], week + 2)).toEqual([1]);
  });
});
