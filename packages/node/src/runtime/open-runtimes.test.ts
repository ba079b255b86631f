import { expect, test } from "vitest";
import { chooseDefault } from "./open-runtimes.ts";

const absent = new Map([["kata", "it does not start"]]);
const flawed = new Map([["gvisor", "it is old"]]);
const none = new Map<string, string>();

test.for([
  ["gVisor where it works", ["gvisor", "runc"], { absent, flawed: none, wanted: undefined }, "gvisor"],
  ["runc where gVisor does not work as it should", ["gvisor", "runc"], { absent, flawed, wanted: undefined }, "runc"],
  ["gVisor where there is nothing else", ["gvisor"], { absent, flawed, wanted: undefined }, "gvisor"],
  ["what the operator wants", ["gvisor", "runc"], { absent, flawed, wanted: "gvisor" }, "gvisor"],
] as const)("the default is %s", ([, present, choice, expected]) => {
  expect(chooseDefault(present, choice)).toBe(expected);
});

test.for([
  ["nothing works", [], undefined, "no runtime works here (kata: it does not start)"],
  ["the one that is wanted does not", ["runc"], "kata", 'Cannot use runtime "kata" by default: it does not start'],
  ["there is none of that name", ["runc"], "crun", "there are runc"],
] as const)("there is no default when %s", ([, present, wanted, expected]) => {
  expect(() => chooseDefault(present, { absent, flawed, wanted })).toThrow(expected);
});
