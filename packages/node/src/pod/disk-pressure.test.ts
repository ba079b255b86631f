import { expect, test } from "vitest";
import { choosePod, evictionFor, waitFor } from "./disk-pressure.ts";

const reserve = { diskFreeBytes: 1000, inodesFree: 50 };

test.for([
  [
    "the Pod with the largest usage",
    [
      { uid: "a", used: 200 },
      { uid: "b", used: 300 },
    ],
    "bytes",
    "b",
  ],
  [
    "a Pod that could not be counted comes first",
    [
      { uid: "a", used: 900 },
      { uid: "b", used: undefined },
    ],
    "bytes",
    "b",
  ],
  ["no Pod when evicting the largest would not help", [{ uid: "a", used: 99 }], "bytes", undefined],
  [
    "by inodes",
    [
      { uid: "a", used: 6 },
      { uid: "b", used: 4 },
    ],
    "inodes",
    "a",
  ],
  ["no Pod when there are no Pods", [], "inodes", undefined],
] as const)("evicts %s", ([, pods, short, expected]) => {
  expect(choosePod(pods, short, reserve)?.uid).toBe(expected);
});

test("messages name the resource that is short", () => {
  expect(evictionFor("inodes", { uid: "a", used: 7 })).toEqual({
    reason: "Evicted",
    message: "The node was low on resource: inodes. The Pod was using 7. ",
  });
  expect(waitFor("bytes").message).toContain("DiskPressure");
});
