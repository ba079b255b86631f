import { expect, test } from "vitest";
import { parseListenAddress } from "./listen-address.ts";

test.for([
  [":8080", { port: 8080 }],
  ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
  ["[fd00::1]:443", { host: "fd00::1", port: 443 }],
  ["localhost:65535", { host: "localhost", port: 65_535 }],
] as const)("reads %s", ([text, expected]) => {
  expect(parseListenAddress(text)).toEqual(expected);
});

test.for(["", "8080", "::1:80", "host:", "host:65536", "host:-1", "a b:1", "[::1]", "[host]:1", ":123456"])(
  "%j is invalid",
  (text) => {
    expect(parseListenAddress(text)).toBeUndefined();
  },
);
