import { describe, expect, test } from "vitest";
import { messageOf } from "../errors.ts";
import { checkLimits, defaultStateLimits, type ImageUse } from "./limits.ts";

const limits = {
  ...defaultStateLimits(0),
  images: 3,
  imagesPerNamespace: 2,
  imageBytes: 100,
  bytesPerNamespace: 150,
  bytes: 200,
  saves: 2,
};
const image = (namespace: string, bytes: number): ImageUse => ({ sandboxUid: "s", namespace, bytes });

function refusal(wanted: ImageUse, others: readonly ImageUse[]): string | undefined {
  try {
    checkLimits(wanted, others, limits);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

describe("limits of saved memory", () => {
  test.for([
    ["an empty store", image("a", 100), [], undefined],
    ["an image that is too large", image("a", 101), [], "the image would have 101 bytes, and 100 are allowed"],
    ["images of a namespace", image("a", 1), [image("a", 1), image("a", 1)], 'namespace "a" has its 2 images already'],
    [
      "images of the node",
      image("c", 1),
      [image("a", 1), image("a", 1), image("b", 1)],
      "this node has its 3 images already",
    ],
    [
      "bytes of a namespace",
      image("a", 60),
      [image("a", 91)],
      'namespace "a" uses 91 of 150 bytes for images, and 60 more are needed',
    ],
    [
      "bytes of the node",
      image("c", 60),
      [image("a", 91), image("b", 50)],
      "this node uses 141 of 200 bytes for images, and 60 more are needed",
    ],
  ] as const)("%s", ([, wanted, others, message]) => {
    const expected = message === undefined ? undefined : `Cannot save the memory of the Pod: ${message}`;
    expect(refusal(wanted, others)).toBe(expected);
  });

  test.for([
    [40 * 2 ** 30, 10 * 2 ** 30],
    [1000 * 2 ** 30, 64 * 2 ** 30],
  ])("snapshots get a quarter of a disk of %i bytes, at most 64 GiB", ([disk = 0, bytes = 0]) => {
    expect(defaultStateLimits(disk)).toMatchObject({ snapshotBytes: bytes, snapshotBytesPerNamespace: bytes / 4 });
  });

  test("one namespace gets half of a quarter of the disk", () => {
    expect(defaultStateLimits(800)).toMatchObject({ bytes: 200, bytesPerNamespace: 100, imageBytes: 50, saves: 2 });
  });
});
