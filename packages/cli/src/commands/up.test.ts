import { expect, test } from "vitest";
import { parseListen } from "./up.ts";

test.for([
  ["127.0.0.1:7643", { host: "127.0.0.1", port: 7643 }],
  ["[::1]:0", { host: "::1", port: 0 }],
  ["localhost:65535", { host: "localhost", port: 65_535 }],
] as const)("reads %s", ([text, expected]) => {
  expect(parseListen(text)).toEqual(expected);
});

test.for(["", "7643", ":7643", "::1:7643", "host:", "host:65536", "host:-1", "a b:1", "[::1]"])(
  "refuses %j",
  (text) => {
    expect(() => parseListen(text)).toThrow(`Cannot listen on "${text}"`);
  },
);
