import { describe, expect, test } from "vitest";
import { formatApiKey, parseApiKey } from "./api-key.ts";

const hex = (text: string): string => Buffer.from(text).toString("hex");

describe("parseApiKey", () => {
  test.for([
    ["a token", "abc.def-_", { token: "abc.def-_" }],
    ["a token for a namespace", "abc.def@team-1", { token: "abc.def", namespace: "team-1" }],
    ["E2B's prefix", "e2b_abc.def", { token: "abc.def" }],
    ["E2B's form in hexadecimal", `e2b_${hex("abc.def@team")}`, { token: "abc.def", namespace: "team" }],
    ["a token that consists of hexadecimal digits", "e2b_00ff12", { token: "00ff12" }],
    ["an @ in the token", "user@host@team", { token: "user@host", namespace: "team" }],
    ["surrounding white space", " abc\n", { token: "abc" }],
  ] as const)("reads %s", ([, text, key]) => {
    expect(parseApiKey(text)).toEqual(key);
  });

  test.for(["", "  ", "a b", "a\u0000b", "é", "x".repeat(40_000)])("refuses %j", (text) => {
    expect(parseApiKey(text)).toBeUndefined();
  });

  test("reads what formatApiKey writes", () => {
    const key = { token: "eyJ.x-_.y", namespace: "team" };
    expect(parseApiKey(formatApiKey(key))).toEqual(key);
    expect(formatApiKey(key)).toMatch(/^e2b_[0-9a-f]+$/);
  });
});
