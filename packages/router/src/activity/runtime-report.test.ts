import { expect, test } from "vitest";
import { isBusy } from "./runtime-report.ts";

test.for<[unknown, boolean]>([
  [{ busy: true }, true],
  [{ busy: false, running_processes: 3 }, false],
  [{ busy: "true" }, false],
  [{}, false],
  [null, false],
  ["busy", false],
])("the activity report %j means busy: %s", ([report, expected]) => {
  expect(isBusy(report)).toBe(expected);
});
