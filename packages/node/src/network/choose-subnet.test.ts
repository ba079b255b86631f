import { describe, expect, test } from "vitest";
import { chooseSubnet } from "./choose-subnet.ts";
import { formatSubnet, parseSubnet, type Subnet } from "./subnet.ts";

const subnets = (...texts: string[]): Subnet[] => texts.map(parseSubnet).filter((subnet) => subnet !== undefined);
const choose = (wanted: string | undefined, ...inUse: string[]): string =>
  formatSubnet(chooseSubnet(wanted, "0001abcd", subnets(...inUse)));

describe("chooseSubnet()", () => {
  test.for([
    ["starts at a network that depends on the instance", undefined, [], "10.192.16.0/20"],
    ["continues to the next free network", undefined, ["10.192.16.0/21", "10.192.40.0/24"], "10.192.48.0/20"],
    ["skips a network that contains a route to one host", undefined, ["10.192.17.5"], "10.192.32.0/20"],
    ["uses the configured network, without its host bits", "172.20.1.0/22", ["10.192.16.0/20"], "172.20.0.0/22"],
  ] as const)("%s", ([, wanted, inUse, expected]) => {
    expect(choose(wanted, ...inUse)).toBe(expected);
  });

  test.for([
    ["taken", "192.168.0.0/24", 'Cannot use subnet "192.168.0.0/24": the machine already routes "192.168.0.0/16"'],
    ["too wide", "172.16.0.0/12", 'Cannot use subnet "172.16.0.0/12": it must be an IPv4 network between /16 and /29'],
    [
      "too narrow",
      "172.16.0.0/30",
      'Cannot use subnet "172.16.0.0/30": it must be an IPv4 network between /16 and /29',
    ],
    ["not a network", "10.0.0.0/x", 'Cannot use subnet "10.0.0.0/x": it must be an IPv4 network between /16 and /29'],
    [
      "in the Service range",
      "10.96.128.0/20",
      'Cannot use subnet "10.96.128.0/20": it overlaps the Service range 10.96.0.0/16',
    ],
    ["IPv6", "fd00::/64", 'Cannot use subnet "fd00::/64": it must be an IPv4 network between /16 and /29'],
  ] as const)("refuses one that is %s", ([, wanted, message]) => {
    expect(() => choose(wanted, "192.168.0.0/16")).toThrow(message);
  });

  test("fails when all networks are in use", () => {
    expect(() => choose(undefined, "10.192.0.0/10")).toThrow("all of 10.192.0.0/10 is in use");
  });
});
