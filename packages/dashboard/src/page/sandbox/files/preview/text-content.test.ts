import { describe, expect, test } from "vitest";
import { fileContent, readTextContent } from "./text-content.ts";

const read = (text: string, isCut = false) => readTextContent(new TextEncoder().encode(text), isCut);

describe("a text file", () => {
  test.for(["", "a", "a\nb\n", "a\r\nb\r\n", "\ufeffa\nb", "\ufeffa\r\n", "tab\there", "größe \u{1f600}"])(
    "%j is saved as it was",
    (text) => {
      const content = read(text);
      expect(content).toMatchObject({ locked: undefined });
      expect(content && fileContent(content.text, content)).toBe(text);
      expect(content?.text).not.toMatch(/\r|\ufeff/);
    },
  );

  test.for([
    ["has different ends of lines", "a\r\nb\nc"],
    ["has lonely carriage returns", "progress 1%\rprogress 2%\r"],
    ["has escape sequences", "\u001b[31mred"],
    ["reorders its text", "if (admin\u202e) {"],
    ["has a mark in its middle", "a\ufeffb"],
  ])("that %s cannot be edited", ([, text = ""]) => {
    expect(read(text)).toMatchObject({ locked: expect.stringContaining("download") });
  });

  test("that is not complete cannot be edited, even if it ends within a character", () => {
    const bytes = new TextEncoder().encode("größe").slice(0, 3);
    expect(readTextContent(bytes, true)).toMatchObject({ text: "gr", locked: expect.stringContaining("large") });
    expect(readTextContent(bytes, false)).toBeUndefined();
  });

  test.for([
    ["zero bytes", Uint8Array.of(65, 0, 66)],
    ["other bytes", Uint8Array.of(0xff, 0xfe, 0x80)],
  ])("has no %s", ([, bytes]) => {
    expect(readTextContent(bytes as Uint8Array, false)).toBeUndefined();
  });
});
