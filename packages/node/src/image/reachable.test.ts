import { expect, test } from "vitest";
import { isReachable, ownNetworks } from "./reachable.ts";

const own = { addresses: ["192.0.2.7", "2a00:1::7"], networks: ["10.200.0.1/20"] };

test.for([
  ["127.0.0.1", false],
  ["127.255.255.254", false],
  ["0.0.0.0", false],
  ["169.254.169.254", false],
  ["224.0.0.1", false],
  ["255.255.255.255", false],
  ["192.0.2.7", false],
  ["192.0.2.8", true],
  ["10.200.3.4", false],
  ["10.201.0.1", true],
  ["10.96.0.1", false],
  ["203.0.113.9", true],
  ["::1", false],
  ["::", false],
  ["::ffff:127.0.0.1", false],
  ["::ffff:203.0.113.9", false],
  ["::7f00:1", false],
  ["64:ff9b::7f00:1", false],
  ["2002:7f00:1::", false],
  ["2001:0:7f00:1::", false],
  ["fe80::1", false],
  ["fd00::1", false],
  ["ff02::1", false],
  ["2a00:1::7", false],
  ["2a00:1::8", true],
  ["0x7f000001", false],
  ["2130706433", false],
  ["127.1", false],
  ["localhost", false],
  ["", false],
] as const)("pulls may connect to %s: %s", ([address, expected]) => {
  expect(isReachable(address, own)).toBe(expected);
});

test("the machine's own addresses include those of its interfaces", () => {
  expect(ownNetworks().addresses).toContain("127.0.0.1");
});
