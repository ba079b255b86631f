import { expect, test } from "vitest";
import { isOwnHost } from "./check-host.ts";

test.for([
  ["localhost", true],
  ["LOCALHOST:7682", true],
  ["127.0.0.1:7682", true],
  ["[::1]:7682", true],
  ["[::1]", true],
  ["192.0.2.7", true],
  ["Machine-1:80", true],
  [undefined, false],
  ["", false],
  ["evil.example", false],
  ["evil.example:7682", false],
  ["localhost.evil.example", false],
  ["evil.localhost", false],
  ["127.0.0.1.evil.example", false],
  ["127.0.0.1:80:80", false],
  ["127.0.0.1@evil.example", false],
  ["2130706433", false],
  ["0x7f000001", false],
  ["::1", false],
  ["[::1", false],
  ["[evil]", false],
  ["localhost:", false],
] as const)("the host %j is this machine: %s", ([host, expected]) => {
  expect(isOwnHost(host, "machine-1")).toBe(expected);
});
