import { expect, test } from "vitest";
import { visible } from "./visible.ts";

test.for([
  ["keeps text, tabs and lines", "a\tb\nc é 漢 🙂", "a\tb\nc é 漢 🙂"],
  ["keeps lines that end with CR and LF", "a\r\nb", "a\nb"],
  ["shows control characters", "\u001b[31mred\u0007\u0000\r", "␛[31mred␇␀␍"],
  ["shows DEL, and removes C1 controls", "\u007f\u009b", "␡\ufffd"],
  ["removes characters that change the order of text", "\u202eevil\u2066\u200f", "\ufffdevil\ufffd\ufffd"],
] as const)("visible() %s", ([, text, expected]) => {
  expect(visible(text)).toBe(expected);
});
