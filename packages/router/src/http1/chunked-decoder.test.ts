import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChunkedDecoder, MalformedBody } from "./chunked-decoder.ts";

/** The decoded data, and the bytes after the last chunk. */
function decode(text: string, cuts: readonly number[] = []): { data: string; rest: string; isWhole: boolean } {
  const decoder = new ChunkedDecoder();
  const places = [...new Set([0, ...cuts.filter((cut) => cut < text.length), text.length])].sort((a, b) => a - b);
  let [data, rest] = ["", ""];
  places.slice(1).forEach((end, index) => {
    const bytes = Buffer.from(text.slice(places[index], end), "latin1");
    const used = decoder.take(bytes, 0, (part) => {
      data += part.toString("latin1");
    });
    rest += bytes.toString("latin1", used);
  });
  return { data, rest, isWhole: decoder.isWhole };
}

const chunk = (data: string, extension = ""): string => `${data.length.toString(16)}${extension}\r\n${data}\r\n`;

describe("ChunkedDecoder", () => {
  test("decodes chunks however the bytes are split", () => {
    const piece = fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 40 });
    const extension = fc.constantFrom("", ";a", ';a="b c"', ";x=1;y");
    const trailer = fc.constantFrom("", "X: y\r\n", "A:\r\nB: c\r\n");
    fc.assert(
      fc.property(
        fc.array(fc.tuple(piece, extension)),
        trailer,
        fc.array(fc.nat({ max: 300 })),
        (pieces, behind, cuts) => {
          const text = `${pieces.map(([data, more]) => chunk(data, more)).join("")}0\r\n${behind}\r\nNEXT`;
          const data = pieces.map(([part]) => part).join("");
          expect(decode(text, cuts)).toEqual({ data, rest: "NEXT", isWhole: true });
        },
      ),
    );
  });

  test("reads sizes in upper and lower case, and long ones", () => {
    expect(decode(`A\r\n${"x".repeat(10)}\r\n0000000a\r\n${"y".repeat(10)}\r\n0\r\n\r\n`)).toMatchObject({
      data: "xxxxxxxxxxyyyyyyyyyy",
      isWhole: true,
    });
  });

  test.for([
    "zz\r\n",
    "\r\n",
    ";a\r\n",
    "-1\r\n",
    "+1\r\n",
    "0x1\r\n",
    " 1\r\n",
    "1 \r\n",
    "1\n",
    "1\rx",
    "1\r\nxx",
    "1\r\nx\n",
    "1\r\nx\rx",
    "1;a\nx",
    "1;a\0\r\n",
    "1; a\r\n",
    "1;\r\n",
    '1;a="b\r\n',
    `${"0".repeat(13)}\r\n`,
    `1;${"a".repeat(17_000)}`,
    "0\r\n X: folded\r\n\r\n",
    "0\r\nno header\r\n\r\n",
    "0\r\nX: a\nY: b\r\n\r\n",
    "0\r\nX : a\r\n\r\n",
    `0\r\nX: ${"a".repeat(17_000)}`,
  ])("refuses %j", (text) => {
    expect(() => decode(text)).toThrow(MalformedBody);
  });
});
