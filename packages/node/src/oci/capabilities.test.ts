import { expect, test } from "vitest";
import {
  addableCapabilities,
  boundingSet,
  capabilitiesFor,
  capabilityBits,
  defaultCapabilities,
} from "./capabilities.ts";

test.for([
  ["the default", undefined, [...defaultCapabilities]],
  ["drop ALL leaves nothing", { drop: ["ALL"] }, []],
  ["drop ALL, then add", { drop: ["all"], add: ["NET_BIND_SERVICE"] }, ["CAP_NET_BIND_SERVICE"]],
  ["drop one, in any spelling", { drop: ["cap_kill"] }, defaultCapabilities.filter((name) => name !== "CAP_KILL")],
  ["add one twice", { drop: ["ALL"], add: ["CHOWN", "cap_chown"] }, ["CAP_CHOWN"]],
] as const)("%s", ([, change, expected]) => {
  expect(capabilitiesFor(change)).toEqual(expected);
});

test("capabilities over the machine cannot be added", () => {
  const dangerous = [
    "SYS_ADMIN",
    "SYS_PTRACE",
    "SYS_MODULE",
    "NET_ADMIN",
    "SYS_RAWIO",
    "DAC_READ_SEARCH",
    "MKNOD",
    "BPF",
  ];
  expect(addableCapabilities.filter((name) => dangerous.includes(name.slice("CAP_".length)))).toEqual([]);
});

test.for([
  ["no capabilities", "CapBnd:\t0000000000000000\n", 0, undefined],
  ["all but one", "Name:\tx\nCapBnd:\t000001fffeffffff\nSeccomp:\t0\n", 40, "CAP_CHECKPOINT_RESTORE"],
  ["a status without CapBnd", "Name:\tx\n", 0, undefined],
] as const)("what a process may hand on: %s", ([, status, count, last]) => {
  const names = boundingSet(status);
  expect([names.length, names.at(-1), names.includes("CAP_SYS_RESOURCE")]).toEqual([count, last, false]);
});

test("bits of capabilities are those that the kernel shows, also above 31", () => {
  const names = [...defaultCapabilities, "CAP_SYS_ADMIN", "CAP_CHECKPOINT_RESTORE"];
  const status = `CapBnd:\t${capabilityBits([...names, "CAP_CHOWN"])
    .toString(16)
    .padStart(16, "0")}\n`;
  expect(boundingSet(status).toSorted()).toEqual(names.toSorted());
  expect(capabilityBits([])).toBe(0);
  expect(() => capabilityBits(["CAP_NONE"])).toThrow('Cannot use capabilities "CAP_NONE"');
});
