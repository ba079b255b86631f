import { expect, test } from "vitest";
import { modeOf, octalOf } from "./file-info.ts";

test.for([
  [644, "0644"],
  [755, "0755"],
  [7, "0007"],
  [1777, "1777"],
  [0, "0000"],
] as const)("the mode %d is %s", ([mode, octal]) => {
  expect(octalOf(mode)).toBe(octal);
  expect(modeOf(octal)).toBe(mode);
});

test.for([8, 648, -1, 10_000, 6.4, Number.NaN, 1e30])("refuses the mode %d", (mode) => {
  expect(() => octalOf(mode)).toThrow(expect.objectContaining({ status: 400 }));
});
