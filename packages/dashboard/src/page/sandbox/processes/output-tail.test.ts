import { expect, test } from "vitest";
import { mostCharacters, OutputTail } from "./output-tail.ts";

function textOf(...pieces: readonly string[]): string {
  const tail = new OutputTail();
  for (const piece of pieces) tail.add(piece);
  return tail.text;
}

test("shows a line before it ends", () => {
  expect(textOf("Pass", "word: ")).toBe("Password: ");
});

test("removes escape sequences that arrive in pieces, and makes other control characters visible", () => {
  expect(textOf("\u001b[3", "1mred\u001b[0", "m\n\u202egpj.exe\u0000\n\ttab\r\n")).toBe(
    "red\n\ufffdgpj.exe\ufffd\n\ttab\n",
  );
});

test("shows the last version of a line that was rewritten", () => {
  expect(textOf("10%\r20%\r", "30%\ndone")).toBe("30%\ndone");
});

test("keeps the newest output only", () => {
  const tail = new OutputTail();
  for (let index = 0; index < 100; index++) tail.add(`${"x".repeat(10_000)}\n`);
  tail.add("y".repeat(3 * mostCharacters));
  expect([tail.isCut, tail.text.length]).toEqual([true, 4096]);
  tail.add("\nend");
  expect(tail.text.endsWith("\nend")).toBe(true);
});
