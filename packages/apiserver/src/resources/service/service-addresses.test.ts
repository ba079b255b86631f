import { expect, test } from "vitest";
import type { ApiObject } from "../../api-object.ts";
import { ServiceAddresses } from "./service-addresses.ts";

const service = (spec: object): ApiObject => ({ apiVersion: "v1", kind: "Service", metadata: {}, spec });

test("does not allocate an address twice before the first Service is saved", () => {
  const addresses = new ServiceAddresses(() => []);
  const given = Array.from({ length: 2000 }, () => addresses.address() as string);
  expect(new Set(given).size).toBe(2000);
  expect(given.every((address) => /^10\.96\.\d{1,3}\.\d{1,3}$/.test(address))).toBe(true);
});

test("finds the last free node port, and reports when all are taken", () => {
  const ports = Array.from({ length: 2767 }, (_, at) => ({ nodePort: 30_001 + at }));
  const almost = new ServiceAddresses(() => [service({ ports })]);
  expect(almost.nodePort()).toBe(30_000);
  const full = new ServiceAddresses(() => [service({ ports: [...ports, { nodePort: 30_000 }] })]);
  expect(full.nodePort()).toBeUndefined();
});
