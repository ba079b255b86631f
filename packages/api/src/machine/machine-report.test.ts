import { describe, expect, test } from "vitest";
import { formatMachineReport, type MachineReport, parseMachineReport } from "./machine-report.ts";

const report: MachineReport = {
  checkedAt: "2026-01-02T03:04:05Z",
  checks: [
    { name: "kernel", state: "ok", detail: "6.1" },
    { name: "skopeo", state: "lacking", detail: "not found", remedy: "install it" },
  ],
  runtimes: [
    { name: "gvisor", use: "default", depth: "Memory", kernel: "own" },
    { name: "kata", use: "listed", depth: "Filesystem" },
  ],
  amounts: { diskBytes: { used: 5, most: 10 }, snapshots: { most: 256 } },
};

test("is read as it was written", () => {
  expect(parseMachineReport(formatMachineReport(report))).toEqual(report);
});

test("is bounded, whatever programs print", () => {
  const check = { name: "n".repeat(500), state: "ok", detail: `a\n\tb${"€".repeat(5000)}`, remedy: "r" } as const;
  const text = formatMachineReport({ ...report, checks: Array.from({ length: 1000 }, () => check) });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(48 * 1024);
  const [first] = parseMachineReport(text)?.checks ?? [];
  expect(first?.detail).toMatch(/^a b€+…$/);
  expect([first?.name.length, first?.detail.length]).toEqual([80, 300]);
});

describe("a report that somebody else wrote", () => {
  test.for([
    ["nothing", undefined],
    ["no JSON", "{"],
    ["a list", "[]"],
    ["null", "null"],
    ["no time", "{}"],
    ["a time that is none", '{"checkedAt":"yesterday"}'],
    ["too long", JSON.stringify({ ...report, more: "x".repeat(50_000) })],
  ])("is not shown: %s", ([, text]) => {
    expect(parseMachineReport(text)).toBeUndefined();
  });

  test("loses what is not valid", () => {
    const text = JSON.stringify({
      checkedAt: report.checkedAt,
      checks: [null, 1, {}, { name: "a", state: "fine", detail: "b" }, { name: {}, state: "ok", detail: "b" }],
      runtimes: [null, { name: "a", use: "always", depth: "Memory" }, { name: "b", use: "allowed", depth: "All" }],
      amounts: { diskBytes: { used: -1, most: "9" }, imageBytes: { used: 1e300 }, other: { used: 1 }, snapshots: 7 },
    });
    expect(parseMachineReport(text)).toEqual({
      checkedAt: report.checkedAt,
      checks: [],
      runtimes: [],
      amounts: { diskBytes: {}, imageBytes: {}, snapshots: {} },
    });
  });

  test("has each name once", () => {
    const text = JSON.stringify({ ...report, checks: [...report.checks, ...report.checks] });
    expect(parseMachineReport(text)).toEqual(report);
  });

  test("has no keys of objects, however it is written", () => {
    const text = `{"checkedAt":"${report.checkedAt}","checks":{"length":9},"runtimes":"x","amounts":{"__proto__":{"diskBytes":{"used":1}}}}`;
    expect(parseMachineReport(text)).toEqual({
      checkedAt: report.checkedAt,
      checks: [],
      runtimes: [],
      amounts: {},
    });
  });
});
