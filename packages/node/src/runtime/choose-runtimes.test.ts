import { expect, test } from "vitest";
import { chooseRuntimes, type FoundRuntimes, type RuntimePolicy } from "./choose-runtimes.ts";

const found = (usable: readonly string[], rest: Partial<FoundRuntimes> = {}): FoundRuntimes => ({
  usable,
  absent: new Map([["kata", "it does not start"]]),
  flawed: new Map(),
  registered: [],
  ...rest,
});
const both = found(["gvisor", "runc"]);
const oldGvisor = found(["gvisor", "runc"], { flawed: new Map([["gvisor", "it is old"]]) });
const withCrun = found(["gvisor", "runc", "crun"], { registered: ["crun"] });

test.for<[string, FoundRuntimes, RuntimePolicy, readonly string[], string]>([
  ["only gVisor where it works", both, {}, ["gvisor"], "gvisor"],
  ["the working runtimes where gVisor is missing", found(["runc"]), {}, ["runc"], "runc"],
  ["both where gVisor has a defect, with runc as the default", oldGvisor, {}, ["gvisor", "runc"], "runc"],
  [
    "gVisor with a defect where no other runtime works",
    found(["gvisor"], { flawed: oldGvisor.flawed }),
    {},
    ["gvisor"],
    "gvisor",
  ],
  ["registered runtimes", withCrun, {}, ["gvisor", "crun"], "gvisor"],
  ["the operator's list", withCrun, { allowed: ["gvisor", "runc"] }, ["gvisor", "runc"], "gvisor"],
  ["a list without gVisor", both, { allowed: ["runc"] }, ["runc"], "runc"],
  ["runtimes that are allowed in addition", both, { alsoAllowed: ["runc"] }, ["gvisor", "runc"], "gvisor"],
  [
    "runtimes that are allowed in addition to the list",
    both,
    { allowed: ["gvisor"], alsoAllowed: ["runc"] },
    ["gvisor", "runc"],
    "gvisor",
  ],
  ["the default that the operator chose", both, { defaultRuntime: "runc" }, ["gvisor", "runc"], "runc"],
  ["only the runtimes of the list that work here", both, { allowed: ["kata", "runc"] }, ["runc"], "runc"],
])("allows %s", ([, runtimes, policy, allowed, expected]) => {
  expect(chooseRuntimes(runtimes, policy)).toEqual({ allowed, default: expected });
});

test.for<[string, FoundRuntimes, RuntimePolicy, string]>([
  ["no runtime works", found([]), {}, "Cannot run Pods: no runtime works here (kata: it does not start)"],
  ["no runtime of the list works", both, { allowed: ["kata"] }, "none of the allowed runtimes (kata) works here"],
  ["the list is empty", both, { allowed: [] }, "none of the allowed runtimes () works here"],
  [
    "the list names an unknown runtime",
    both,
    { allowed: ["gvisr"] },
    'Cannot allow runtime "gvisr": known runtimes are gvisor, runc, kata',
  ],
  ["an unknown runtime is allowed in addition", both, { alsoAllowed: ["crun"] }, 'Cannot allow runtime "crun"'],
  [
    "the default does not work",
    both,
    { defaultRuntime: "kata" },
    'Cannot use runtime "kata" by default: it does not start',
  ],
  ["the default is unknown", both, { defaultRuntime: "crun" }, "known runtimes are gvisor, runc"],
  [
    "the default is not on the list",
    both,
    { allowed: ["gvisor"], defaultRuntime: "runc" },
    'Cannot use runtime "runc" by default: it is not among the allowed runtimes',
  ],
])("refuses to start when %s", ([, runtimes, policy, expected]) => {
  expect(() => chooseRuntimes(runtimes, policy)).toThrow(expected);
});
