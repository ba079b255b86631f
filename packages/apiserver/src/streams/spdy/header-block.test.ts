import { constants, createDeflate, type Deflate } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { headerDictionary, headerDictionaryId } from "./dictionary.ts";
import { HeaderReader, HeaderWriter } from "./header-block.ts";

/** Compresses as clients do: one zlib stream, flushed after each block. */
async function deflated(deflate: Deflate, plain: Buffer): Promise<Buffer> {
  const parts: Buffer[] = [];
  const collect = (part: Buffer): unknown => parts.push(part);
  deflate.on("data", collect);
  await new Promise<void>((resolve) => {
    deflate.write(plain, () => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
  });
  deflate.off("data", collect);
  return Buffer.concat(parts);
}

function plainOf(headers: Record<string, string>): Buffer {
  const counted = (text: string): Buffer[] => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(text));
    return [length, Buffer.from(text)];
  };
  const count = Buffer.alloc(4);
  count.writeUInt32BE(Object.keys(headers).length);
  return Buffer.concat([count, ...Object.entries(headers).flat().flatMap(counted)]);
}

function adler32(bytes: Buffer): number {
  let [low, high] = [1, 0];
  for (const byte of bytes) {
    low = (low + byte) % 65_521;
    high = (high + low) % 65_521;
  }
  return high * 65_536 + low;
}

describe("header blocks", () => {
  test("the dictionary has the checksum of the specification", () => {
    expect([headerDictionary.length, adler32(headerDictionary)]).toEqual([1423, headerDictionaryId]);
  });

  test("are read in sequence as clients compress them", async () => {
    const reader = new HeaderReader();
    const deflate = createDeflate({ dictionary: headerDictionary });
    for (const type of ["error", "stdin", "stdout"]) {
      const block = await deflated(deflate, plainOf({ StreamType: type, accept: "a\0b" }));
      expect(await reader.read(block)).toEqual(
        new Map([
          ["streamtype", type],
          ["accept", "a,b"],
        ]),
      );
    }
    reader.close();
  });

  test("are read as we write them", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), fc.stringMatching(/^[ -~]*$/))),
        async (list) => {
          const [reader, writer] = [new HeaderReader(), new HeaderWriter()];
          for (const headers of list) {
            const wanted = new Map(Object.entries(headers));
            expect(await reader.read(writer.write(wanted))).toEqual(wanted);
          }
          reader.close();
        },
      ),
      { numRuns: 50 },
    );
  });

  test.for([
    ["a decompression bomb", Buffer.alloc(50_000_000)],
    ["too many headers", Buffer.from([0, 0, 1, 0])],
    ["fewer headers than promised", Buffer.from([0, 0, 0, 2, 0, 0, 0, 1, 0x61, 0, 0, 0, 1, 0x62])],
    ["a length beyond the end", Buffer.from([0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff])],
    ["bytes after the end", Buffer.from([0, 0, 0, 0, 1])],
  ] as const)("%s is refused", async ([, plain]) => {
    const reader = new HeaderReader();
    const block = await deflated(createDeflate({ dictionary: headerDictionary }), plain);
    expect(await reader.read(block)).toBeUndefined();
    reader.close();
  });

  test("uncompressed data is refused, and so is everything after it", async () => {
    const reader = new HeaderReader();
    expect(await reader.read(Buffer.from("hello"))).toBeUndefined();
    expect(await reader.read(new HeaderWriter().write(new Map()))).toBeUndefined();
  });
});
