import { expect, test } from "vitest";
import { printable } from "./printable.ts";
import { formatTable } from "./table.ts";

test.each([
  ["plain text, ümläut", "plain text, ümläut"],
  ["\u001b[2J\u001b]0;title\u0007", "^[[2J^[]0;title^G"],
  ["a\r\nb\tc", "a b c"],
  ["\u007f\u009b31m", "^?�31m"],
  ["right \u202eto left", "right �to left"],
])("%j is printed as %j", (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test("cells of tables cannot control the terminal", () => {
  const table = { columnDefinitions: [{ name: "Message" }], rows: [{ cells: ["\u001b[1A\u001b[2Kforged\nrow"] }] };
  expect(formatTable(table)).toBe("MESSAGE\n^[[1A^[[2Kforged row");
});
