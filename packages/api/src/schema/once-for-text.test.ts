import { describe, expect, test } from "vitest";
import { onceForText } from "./once-for-text.ts";

describe("onceForText()", () => {
  test("asks once about a short text, and every time about anything else", () => {
    const asked: unknown[] = [];
    const once = onceForText((value: unknown) => `${String(asked[asked.push(value) - 1])}!`);
    const long = "x".repeat(65);
    for (const value of ["a", "a", 1, 1, long, long]) expect(once(value)).toBe(`${value}!`);
    expect(asked).toEqual(["a", 1, 1, long, long]);
  });

  test("remembers no more than so many", () => {
    let asked = 0;
    const once = onceForText((_text: string) => (asked += 1));
    for (let at = 0; at < 65; at += 1) once(`text ${at}`);
    once("text 64");
    expect(asked).toBe(65);
    once("text 0");
    expect(asked).toBe(66);
  });
});
