import { expect, test } from "vitest";
import { basicToken } from "./basic-token.ts";

const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString("base64")}`;

test.for([
  ["any user", basic("me:token"), "token"],
  ["no user", basic(":token"), "token"],
  ["a colon in the password", basic("me:a:b"), "a:b"],
  ["another case of the scheme", basic("me:token").replace("Basic", "bAsIc  "), "token"],
] as const)("the password is the token, with %s", ([, header, token]) => {
  expect(basicToken(header)).toBe(token);
});

test.for([
  ["no header", undefined],
  ["nothing", ""],
  ["another scheme", "Bearer token"],
  ["no pair", "Basic"],
  ["an empty password", basic("user:")],
  ["no colon", basic("token")],
  ["spaces in the password", basic("me:a b")],
  ["control characters", basic("me:a\r\nx: y")],
  ["bytes that are not text", `Basic ${Buffer.from([0x61, 0x3a, 0xff, 0xfe]).toString("base64")}`],
  ["characters that are not base64", "Basic bWU6!dG9rZW4="],
  ["base64 without its padding", "Basic bWU6dG9rZW4"],
  ["base64 of URLs", "Basic bWU6_-8="],
  ["several values", `${basic("me:token")} x`],
] as const)("there is no token with %s", ([, header]) => {
  expect(basicToken(header)).toBeUndefined();
});

test("a long header takes linear time", () => {
  expect(basicToken(`Basic ${" ".repeat(50_000)}${"A".repeat(50_000)}=!`)).toBeUndefined();
});
