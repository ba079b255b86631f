import { expect, test } from "vitest";
import { chooseDefault } from "./open-runtimes.ts";

const absent = new Map([["gvisor", "it does not start"]]);

test.for([
  ["gVisor where it works", ["gvisor", "runc"], undefined, "gvisor"],
  ["runc where it does not", ["runc", "kata"], undefined, "runc"],
  ["whatever there is", ["kata"], undefined, "kata"],
  ["what the operator wants", ["gvisor", "kata", "runc"], "kata", "kata"],
] as const)("the default is %s", ([, present, wanted, expected]) => {
  expect(chooseDefault(present, absent, wanted)).toBe(expected);
});

test.for([
  ["nothing works", [], undefined, "no runtime works here (gvisor: it does not start)"],
  ["the one that is wanted does not", ["runc"], "gvisor", 'Cannot use runtime "gvisor" by default: it does not start'],
  ["there is none of that name", ["runc"], "kata", "there are runc"],
] as const)("there is no default when %s", ([, present, wanted, expected]) => {
  expect(() => chooseDefault(present, absent, wanted)).toThrow(expected);
});
