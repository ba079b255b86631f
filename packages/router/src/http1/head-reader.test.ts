import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type HeadProgress, HeadReader } from "./head-reader.ts";
import { mayBecomeRequest } from "./parse-head.ts";

const reader = (maxBytes = 1000): HeadReader => new HeadReader({ maxBytes, mayBecomeHead: mayBecomeRequest });

/** Feeds the pieces until the head is complete or refused. Returns the bytes after it in the last piece. */
function feed(head: HeadReader, pieces: readonly string[]): { progress: HeadProgress; text: string; rest: string } {
  let progress: HeadProgress = "more";
  for (const piece of pieces) {
    const bytes = Buffer.from(piece, "latin1");
    progress = head.take(bytes, 0);
    if (progress !== "more") return { progress, text: head.text, rest: bytes.toString("latin1", head.end) };
  }
  return { progress, text: "", rest: "" };
}

const text = "GET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n";

describe("HeadReader", () => {
  test("finds the head however the bytes are split", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 60 }), { maxLength: 8 }), fc.boolean(), (cuts, hasEmptyLine) => {
        const all = `${hasEmptyLine ? "\r\n" : ""}${text}\r\nbody`;
        const places = [...new Set([0, ...cuts.filter((cut) => !hasEmptyLine || cut !== 1), all.length])];
        places.sort((a, b) => a - b);
        const pieces = places.slice(1).map((end, index) => all.slice(places[index], end));
        const { progress, text: found, rest } = feed(reader(), pieces);
        expect([progress, found, "body".startsWith(rest)]).toEqual(["whole", text, true]);
      }),
    );
  });

  test("finds several heads in a row", () => {
    const head = reader();
    for (const pieces of [[`${text}\r\n`], [text, "\r", "\n"], [`${text}\r\n`]]) {
      expect(feed(head, pieces)).toEqual({ progress: "whole", text, rest: "" });
    }
  });

  test.for<[string, string[], HeadProgress]>([
    ["nothing but empty lines", ["\r\n\r\n"], "more"],
    ["a line that ends in a bare LF", ["GET / HTTP/1.1\r\nA: b\n"], "malformed"],
    ["a bare LF at the seam", ["GET / HTTP/1.1\r\nA: b", "\n"], "malformed"],
    ["a CR in a line, at the seam", ["GET / HTTP/1.1\r\nA: b\r", "x"], "malformed"],
    ["what will never be a request", ["\x16\x03\x01"], "malformed"],
    ["one byte too many in one piece", [`GET / HTTP/1.1\r\nA: ${"b".repeat(982)}\r\n\r\n`], "too large"],
    ["too many bytes in pieces", ["GET / HTTP/1.1\r\nA: ", "b".repeat(900), "b".repeat(100)], "too large"],
  ])("judges %s", ([, pieces, expected]) => {
    expect(feed(reader(), pieces).progress).toBe(expected);
  });
});
