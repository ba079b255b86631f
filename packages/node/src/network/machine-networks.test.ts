import { expect, test } from "vitest";
import { overlapping, routesIn } from "./machine-networks.ts";
import { formatAddresses } from "./ranges.ts";

const table = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
tun0\t0005600A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
asb1\t0007600A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
`;

test("finds a network of the machine in the Service range, except that of the node's own bridge", () => {
  expect(overlapping(routesIn(table, "asb1")).map(formatAddresses)).toEqual(["10.96.5.0-10.96.5.255"]);
});

test("of a wider network, returns only the part in the Service range", () => {
  expect(overlapping([{ base: 0x0a000000, prefix: 8 }]).map(formatAddresses)).toEqual(["10.96.0.0-10.96.255.255"]);
});
