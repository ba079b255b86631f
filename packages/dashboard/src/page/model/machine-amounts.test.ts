import type { MachineReport } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { shownAmounts } from "./machine-amounts.ts";

const report = (amounts: MachineReport["amounts"]): MachineReport => ({
  checkedAt: "2026-01-01T00:00:00Z",
  checks: [],
  runtimes: [],
  amounts,
});

test("bytes and numbers, in one order, with what is used of what there is", () => {
  const amounts = { snapshots: { used: 3, most: 256 }, diskBytes: { used: 2 ** 30, most: 2 ** 31 } };
  expect(shownAmounts(report(amounts))).toEqual([
    { name: "diskBytes", title: "Disk", used: "1.0 GiB", most: "2.0 GiB", share: 0.5 },
    { name: "snapshots", title: "Number of snapshots", used: "3", most: "256", share: 3 / 256 },
  ]);
});

test("more than there is, and nothing at all, are full", () => {
  const amounts = { savedBytes: { used: 9, most: 1 }, snapshots: { used: 0, most: 0 }, savedImages: {} };
  expect(shownAmounts(report(amounts)).map(({ share }) => share)).toEqual([1, 1]);
});

test("an amount without a limit has no share", () => {
  expect(shownAmounts(report({ imageBytes: { used: 5 } }))).toMatchObject([{ used: "5 B", share: undefined }]);
});
