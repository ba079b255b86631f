import { expect, test } from "vitest";
import { isKnownHost } from "./known-host.ts";

test.for<[string | undefined, string[] | undefined, boolean]>([
  ["anything.example", undefined, true],
  ["localhost:8080", ["localhost"], true],
  ["LocalHost.", ["localhost"], true],
  ["127.0.0.1:8080", ["localhost"], true],
  ["[::1]:8080", ["localhost"], true],
  [undefined, ["localhost"], true],
  ["evil.example:8080", ["localhost"], false],
  ["localhost.evil.example", ["localhost"], false],
  ["evil.example", [], false],
  ["", ["localhost"], false],
])("%j among %j: %s", ([host, names, expected]) => {
  expect(isKnownHost(host, names)).toBe(expected);
});
