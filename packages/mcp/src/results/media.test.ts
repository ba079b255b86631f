import { describe, expect, test } from "vitest";
import { mediaOf } from "./media.ts";

const image = (data: string): Record<string, unknown> => ({ "text/plain": "<Figure>", "image/png": data });

describe("mediaOf()", () => {
  test("text has its own place", () => {
    expect(mediaOf([{ "text/plain": "4" }])).toEqual({ blocks: [], images: 0, large: [], notes: [] });
  });
  test("images are images, without the white space of their base64", () => {
    expect(mediaOf([image("AAAA\nBBBB\n")]).blocks).toEqual([
      { type: "image", data: "AAAABBBB", mimeType: "image/png" },
    ]);
  });
  test("SVG is encoded", () => {
    const data = Buffer.from("<svg/>").toString("base64");
    expect(mediaOf([{ "image/svg+xml": "<svg/>" }]).blocks).toEqual([
      { type: "image", data, mimeType: "image/svg+xml" },
    ]);
  });
  test("at most four images are shown", () => {
    const { blocks, images, notes } = mediaOf(Array.from({ length: 6 }, () => image("AAAA")));
    expect([blocks.length, images, notes]).toEqual([4, 4, ["2 more images are not shown"]]);
  });
  test("large images are apart, at most four of them", () => {
    const big = { mimeType: "image/png", data: "A".repeat(1_500_000) };
    const { blocks, large, notes } = mediaOf([...Array.from({ length: 5 }, () => image(big.data)), image("AAAA")]);
    expect([blocks.length, large.length, notes]).toEqual([1, 4, ["1 more images are not shown"]]);
    expect(large[0]).toMatchObject(big);
  });
  test("data that is not base64 or not text is no image", () => {
    expect(mediaOf([image("no base64!"), { "image/png": 7 }]).blocks).toEqual([]);
  });
  test("other media are embedded with their type", () => {
    const { blocks } = mediaOf([{ "text/html": "<b>x</b>" }, { "application/json": { a: 1 } }]);
    expect(blocks).toEqual([
      { type: "resource", resource: { uri: "sandbox:result/0", mimeType: "text/html", text: "<b>x</b>" } },
      { type: "resource", resource: { uri: "sandbox:result/1", mimeType: "application/json", text: '{"a":1}' } },
    ]);
  });
  test("large values and types that are no media types are not shown", () => {
    const { blocks, notes } = mediaOf([{ "text/html": "x".repeat(70_000) }, { "no type\r\n": "x" }]);
    expect([blocks, notes]).toEqual([[], ["2 other values are not shown"]]);
  });
});
