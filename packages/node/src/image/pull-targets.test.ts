import { describe, expect, test } from "vitest";
import { operatorHosts, pullTargets } from "./pull-targets.ts";

const names: Readonly<Record<string, readonly string[]>> = {
  "registry.example": ["203.0.113.9"],
  "rebind.example": ["127.0.0.1"],
  "both.example": ["203.0.113.9", "169.254.169.254"],
};
const registries = [{ name: "localhost:5000" }, { name: "docker.io", mirrors: ["10.96.0.9:5001/cache"] }];
const resolve = async (name: string): Promise<readonly string[]> => {
  if (names[name] === undefined) throw new Error("no such name");
  return names[name];
};
const find = pullTargets(registries, { resolve });

describe("where pulls may connect", () => {
  test.for([
    ["a public registry, at the address that was checked", "registry.example", 443, "203.0.113.9"],
    ["a name that resolves to loopback", "rebind.example", 22, undefined],
    ["a name with one forbidden address among others", "both.example", 443, undefined],
    ["a name that cannot be resolved", "missing.example", 443, undefined],
    ["loopback", "127.0.0.1", 22, undefined],
    ["localhost at a port that the operator has not configured", "localhost", 22, undefined],
    ["link-local", "169.254.169.254", 80, undefined],
    ["a registry on loopback that the operator configured", "localhost", 5000, "localhost"],
    ["a mirror that the operator configured", "10.96.0.9", 5001, "10.96.0.9"],
    ["another port of the mirror's host", "10.96.0.9", 5002, undefined],
  ] as const)("%s", async ([, host, port, expected]) => {
    expect((await find({ host, port }))?.host).toBe(expected);
  });

  test("only names that cannot be resolved here are left to the machine's proxy", async () => {
    const proxied = pullTargets(registries, { resolve, unresolved: "pass" });
    expect(await proxied({ host: "missing.example", port: 443 })).toEqual({ host: "missing.example", port: 443 });
    expect(await proxied({ host: "rebind.example", port: 443 })).toBeUndefined();
    expect(await proxied({ host: "127.0.0.1", port: 443 })).toBeUndefined();
  });

  test("the hosts of the operator's registries and mirrors", () => {
    expect(
      operatorHosts([
        { name: "docker.io/library", mirrors: ["mirror.example"] },
        { name: "lan:5000" },
        { name: "plain.example", insecure: true },
        { name: "[fd00::1]:5000" },
      ]),
    ).toEqual([
      "registry-1.docker.io:443",
      "mirror.example:443",
      "lan:5000",
      "plain.example:443",
      "plain.example:80",
      "fd00::1:5000",
    ]);
  });
});
