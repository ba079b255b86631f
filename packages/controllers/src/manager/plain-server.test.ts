import { expect, test } from "vitest";
import { parseBindAddress } from "./plain-server.ts";

test.for([
  [":8080", { port: 8080 }],
  ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
  ["[::1]:9", { host: "::1", port: 9 }],
  ["0", undefined],
  ["", undefined],
  ["8080", { error: expect.stringContaining("write address:port") }],
  [":70000", { error: expect.stringContaining("write address:port") }],
  ["a:b:1", { error: expect.stringContaining("write address:port") }],
] as const)("parseBindAddress(%j)", ([text, address]) => {
  expect(parseBindAddress(text)).toEqual(address);
});
