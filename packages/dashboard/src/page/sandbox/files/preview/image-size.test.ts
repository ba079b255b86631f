import { describe, expect, test } from "vitest";
import { readImageSize } from "./image-size.ts";

const bytes = (...parts: readonly (string | readonly number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...Buffer.from(part, "latin1")] : part)));

const png = bytes([0x89], "PNG\r\n\x1a\n", [0, 0, 0, 13], "IHDR", [0, 0, 0x40, 0, 0, 0, 0, 2]);
const jpeg = bytes(
  [0xff, 0xd8],
  [0xff, 0xe0, 0, 4, 1, 2],
  [0xff, 0xc4, 0, 3, 9],
  [0xff, 0xc2, 0, 17, 8, 0x01, 0x02, 0x03, 0x04],
);

describe("readImageSize()", () => {
  test.for([
    ["a PNG", png, "image/png", 0x4000, 2],
    ["a GIF", bytes("GIF89a", [0x10, 0x01, 0x20, 0]), "image/gif", 0x110, 0x20],
    ["a JPEG with other segments", jpeg, "image/jpeg", 0x304, 0x102],
    ["a lossy WebP", bytes("RIFF....WEBPVP8 .......\x9d\x01\x2a", [0x20, 0x40, 0x10, 0]), "image/webp", 0x20, 0x10],
    ["a lossless WebP", bytes("RIFF....WEBPVP8L....\x2f", [0xff, 0xc0, 0x1, 0]), "image/webp", 0x100, 0x8],
    ["an extended WebP", bytes("RIFF....WEBPVP8X........", [0xff, 0xff, 0, 1, 0, 0]), "image/webp", 0x10000, 2],
  ] as const)("reads %s", ([, content, type, width, height]) => {
    expect(readImageSize(content)).toEqual({ type, width, height });
  });

  test.for([
    ["an empty file", bytes()],
    ["a text", bytes("hello, this is a text that is longer than a header")],
    ["an SVG", bytes('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')],
    ["a PNG that ends early", png.slice(0, 20)],
    ["a JPEG without a frame", jpeg.slice(0, 12)],
    ["a JPEG with a wrong segment", bytes([0xff, 0xd8, 0xff, 0xe0, 0, 0, 1, 2, 3])],
    ["another RIFF", bytes("RIFF....WAVEfmt .......................")],
    ["a PDF", bytes("%PDF-1.7 ..............................")],
  ])("knows that %s is not an image", ([, content]) => {
    expect(readImageSize(content as Uint8Array)).toBeUndefined();
  });

  test("reads part of a larger buffer", () => {
    const larger = bytes("xxxx", [...png], "yyyy");
    expect(readImageSize(larger.subarray(4))).toEqual({ type: "image/png", width: 0x4000, height: 2 });
  });
});
