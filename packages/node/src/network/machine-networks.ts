import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { serviceRange } from "@agent-sandbox/api";
import { type Range, rangeOf, union } from "./ranges.ts";
import { overlap, parseSubnet, type Subnet } from "./subnet.ts";

/**
 * The networks within `serviceRange` that the machine has addresses in or routes to. The operator may use the same range for
 * another network, and the machine's own packets to it must not be redirected to Pods. Networks behind the default route are
 * not known.
 */
export function routedServiceAddresses(ownBridge: string): Range[] {
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ cidr }) => cidr ?? ""));
  const addresses = own.map((cidr) => parseSubnet(cidr.replace(/\/.*/, ""))).filter((one) => one !== undefined);
  return overlapping([...addresses, ...routesIn(readRoutes(), ownBridge)]);
}

export function overlapping(networks: readonly Subnet[]): Range[] {
  const services = parseSubnet(serviceRange) as Subnet;
  const { from, to } = rangeOf(services);
  const ranges = networks.filter((network) => overlap(network, services)).map(rangeOf);
  return union(ranges.map((range) => ({ from: Math.max(from, range.from), to: Math.min(to, range.to) })));
}

function readRoutes(): string {
  try {
    return readFileSync("/proc/net/route", "utf8");
  } catch {
    return "";
  }
}

/** Parses /proc/net/route, whose numbers are hexadecimal in host byte order. Leaves out the default route. */
export function routesIn(table: string, ownBridge: string): Subnet[] {
  return table
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [device = "", destination = "", , , , , , mask = ""] = line.split("\t");
      if (device === ownBridge || !/^[0-9A-F]{8}$/.test(destination) || !/^[0-9A-F]{8}$/.test(mask)) return [];
      const prefix = swapped(mask).toString(2).replaceAll("0", "").length;
      return prefix === 0 ? [] : [{ base: swapped(destination), prefix }];
    });
}

const swapped = (hex: string): number => Number.parseInt((hex.match(/../g) ?? []).toReversed().join(""), 16);
