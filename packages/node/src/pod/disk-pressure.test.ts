import { expect, test } from "vitest";
import { choosePod, evictionFor, waitFor } from "./disk-pressure.ts";

const reserve = { diskFreeBytes: 1000, inodesFree: 50 };

test.for([
  [
    "the one that has most",
    [
      { uid: "a", used: 200 },
      { uid: "b", used: 300 },
    ],
    "bytes",
    "b",
  ],
  [
    "one that cannot be counted before all others",
    [
      { uid: "a", used: 900 },
      { uid: "b", used: undefined },
    ],
    "bytes",
    "b",
  ],
  ["none when nobody has enough to help", [{ uid: "a", used: 99 }], "bytes", undefined],
  [
    "by inodes",
    [
      { uid: "a", used: 6 },
      { uid: "b", used: 4 },
    ],
    "inodes",
    "a",
  ],
  ["none when there are none", [], "inodes", undefined],
] as const)("evicts %s", ([, pods, short, expected]) => {
  expect(choosePod(pods, short, reserve)?.uid).toBe(expected);
});

test("says what the node is short of", () => {
  expect(evictionFor("inodes", { uid: "a", used: 7 })).toEqual({
    reason: "Evicted",
    message: "The node was low on resource: inodes. The Pod was using 7. ",
  });
  expect(waitFor("bytes").message).toContain("DiskPressure");
});
