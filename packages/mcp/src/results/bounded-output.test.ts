import { describe, expect, test } from "vitest";
import { BoundedOutput, wholeEnd, wholeStart } from "./bounded-output.ts";

function outputOf(maxBytes: number, ...pieces: string[]): BoundedOutput {
  const output = new BoundedOutput(maxBytes);
  for (const piece of pieces) output.add(Buffer.from(piece));
  return output;
}

describe("BoundedOutput", () => {
  test.for([
    ["keeps short output as it is", 10, ["abc", "def"], "abcdef"],
    ["keeps output of exactly the limit", 6, ["abcd", "ef"], "abcdef"],
    ["cuts one piece in the middle", 4, ["abcdefgh"], "ab\n[4 bytes left out]\ngh"],
    ["cuts many pieces in the middle", 4, ["a", "b", "c", "d", "e", "f", "g"], "ab\n[3 bytes left out]\nfg"],
    ["cuts no character at the beginning", 6, ["aé", "漢xxxxxxxx"], "aé\n[8 bytes left out]\nxxx"],
    ["cuts no character at the end", 6, ["xxxxxxxx漢b"], "xxx\n[8 bytes left out]\nb"],
    ["joins a character that two pieces share", 10, ["a\u00e9"], "aé"],
  ] as const)("%s", ([, maxBytes, pieces, expected]) => {
    const output = outputOf(maxBytes, ...pieces);
    expect(output.text()).toBe(expected);
    expect(output.isTruncated).toBe(expected.includes("left out"));
    expect(output.totalBytes).toBe(Buffer.byteLength(pieces.join("")));
  });

  test("says the right number of bytes for every split of the same output", () => {
    const text = "0123456789".repeat(20);
    for (let size = 1; size <= 60; size++) {
      const pieces = text.match(new RegExp(`.{1,${size}}`, "g")) ?? [];
      expect(outputOf(50, ...pieces).text()).toBe(`${text.slice(0, 25)}\n[150 bytes left out]\n${text.slice(-25)}`);
    }
  });
});

test("bytes of a cut character are left out", () => {
  const bytes = Buffer.from("é漢🙂");
  const [starts, ends] = [
    [0, 0, 2, 2, 2, 5, 5, 5, 5, 9],
    [0, 2, 2, 5, 5, 5, 9, 9, 9, 9],
  ];
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(wholeStart(bytes.subarray(0, cut)).length).toBe(starts[cut]);
    expect(bytes.length - wholeEnd(bytes.subarray(cut)).length).toBe(ends[cut]);
  }
});

test("bytes that are no text are kept", () => {
  expect(wholeStart(Buffer.from([0x80, 0x80]))).toHaveLength(2);
  expect(new BoundedOutput(10).text()).toBe("");
});
