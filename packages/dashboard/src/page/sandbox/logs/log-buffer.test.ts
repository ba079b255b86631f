import { expect, test } from "vitest";
import { findLines, LogBuffer, mostLines, withoutEscapes } from "./log-buffer.ts";

const stamp = (number: number): string => `2026-01-01T00:00:00.${String(number).padStart(9, "0")}Z`;

test("puts pieces together to lines with their times", () => {
  const buffer = new LogBuffer();
  for (const piece of [`${stamp(1)} fi`, `rst\n${stamp(2)}`, " second\nno time\n", "not complete"]) buffer.add(piece);
  expect(buffer.lines.map(({ time, text }) => [time, text])).toEqual([
    [stamp(1), "first"],
    [stamp(2), "second"],
    ["", "no time"],
  ]);
});

test("keeps the newest lines, with the numbers that they had", () => {
  const buffer = new LogBuffer();
  for (let at = 0; at < mostLines + 500; at++) buffer.add(`${stamp(at)} line ${at}\n`);
  expect([buffer.lines.length, buffer.dropped, buffer.lines[0]?.text, buffer.lines[0]?.id]).toEqual([
    mostLines,
    500,
    "line 500",
    500,
  ]);
});

test("cuts a line without an end, and limits all characters", () => {
  const buffer = new LogBuffer();
  for (let at = 0; at < 100; at++) buffer.add("x".repeat(100_000));
  buffer.add("\nnext\n");
  expect(buffer.lines.map(({ text }) => text.length)).toEqual([16_384, 4]);
  for (let at = 0; at < 1500; at++) buffer.add(`${"y".repeat(16_000)}\n`);
  expect(buffer.lines.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(16 * 1024 * 1024);
});

test("does not show a line again that the server repeats after a lost connection", () => {
  const buffer = new LogBuffer();
  buffer.add(`${stamp(1)} a\n${stamp(2)} b\n`);
  buffer.add(`${stamp(1)} a\n${stamp(2)} b\n${stamp(3)} c\n`);
  expect(buffer.lines.map(({ text }) => text)).toEqual(["a", "b", "c"]);
});

test("removes colours, and makes other control characters visible", () => {
  expect(withoutEscapes("\u001b[1;31mred\u001b[0m\tx\u001b]0;title\u0007 \u202egpj.exe \u0000\r")).toBe(
    "red\tx \ufffdgpj.exe \ufffd",
  );
});

test("finds text in any case", () => {
  const buffer = new LogBuffer();
  buffer.add("An Error\nfine\nERROR again\n");
  expect(findLines(buffer.lines, "error").map(({ text }) => text)).toEqual(["An Error", "ERROR again"]);
  expect(findLines(buffer.lines, "")).toHaveLength(3);
});
