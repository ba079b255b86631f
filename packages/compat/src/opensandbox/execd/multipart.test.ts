import { describe, expect, test } from "vitest";
import { boundaryOf, partsOf } from "./multipart.ts";

async function* inPieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string, size = 7): Promise<[string, string][]> {
  const parts: [string, string][] = [];
  for await (const { name, content } of partsOf(inPieces(text, size), "B")) {
    const pieces: Buffer[] = [];
    for await (const piece of content) pieces.push(Buffer.from(piece));
    parts.push([name, Buffer.concat(pieces).toString("latin1")]);
  }
  return parts;
}

const part = (name: string, content: string): string =>
  `--B\r\nContent-Disposition: form-data; name="${name}"; filename="x"\r\nContent-Type: a/b\r\n\r\n${content}\r\n`;

describe("the parts of a form", () => {
  test("are read, however the bytes arrive", async () => {
    const contents = ["", "a", "\r\n", "\r\n-", "--B", "x\r\n--A", "\r\n\r\n", "\r\r\n--", "\0\xff".repeat(300)];
    const text = `${contents.map((content, index) => part(`p${index}`, content)).join("")}--B--\r\n`;
    const expected = contents.map((content, index) => [`p${index}`, content]);
    for (const size of [1, 2, 3, 7, 64, 100_000]) expect(await read(text, size)).toEqual(expected);
  });

  test("can be skipped", async () => {
    const names: string[] = [];
    const text = `preamble\r\n${part("a", "1")}${part("b", "2".repeat(1000))}${part("c", "3")}--B--`;
    for await (const { name, content } of partsOf(inPieces(text, 10), "B")) {
      names.push(name);
      if (name === "b") for await (const _ of content) break;
    }
    expect(names).toEqual(["a", "b", "c"]);
  });

  test("of an empty form are none", async () => expect(await read("--B--")).toEqual([]));

  test.for([
    "",
    "--B",
    "--B\r\n",
    part("a", "1"),
    "no boundary at all",
    `--B\r\n${"x".repeat(50_000)}`,
    `--B\r\nA: ${"x".repeat(50_000)}\r\n\r\n1\r\n--B--`,
  ])("of %j are refused", async (text) => {
    await expect(read(text, 1000)).rejects.toMatchObject({ status: 400 });
  });
});

test.for([
  ["multipart/form-data; boundary=abc", "abc"],
  ['multipart/form-data; boundary="a b:c"', "a b:c"],
  ["Multipart/Form-Data; charset=utf-8; boundary=abc; x=y", "abc"],
  ["multipart/form-data;boundary=abc", "abc"],
  ["multipart/form-data", undefined],
  ["multipart/mixed; boundary=abc", undefined],
  ["application/json", undefined],
  [`multipart/form-data; boundary=${"a".repeat(100)}`, "a".repeat(70)],
  [undefined, undefined],
] as const)("the boundary in %j", ([type, boundary]) => expect(boundaryOf(type)).toBe(boundary));
