import { expect, test } from "vitest";
import { formatTable, type Table } from "./table.ts";

const table: Table = {
  columnDefinitions: [{ name: "Name" }, { name: "Ready" }, { name: "Node", priority: 1 }],
  rows: [
    { cells: ["a-long-name", "True", "box"], object: { metadata: { namespace: "default" } } },
    { cells: ["b", null, ""], object: { metadata: { namespace: "other" } } },
  ],
};

test("prints the columns that are not only for wide output", () => {
  expect(formatTable(table)).toBe(["NAME          READY", "a-long-name   True", "b             <none>"].join("\n"));
});

test("prints every column and the namespace when asked", () => {
  expect(formatTable(table, { wide: true, namespaces: true })).toBe(
    [
      "NAMESPACE   NAME          READY    NODE",
      "default     a-long-name   True     box",
      "other       b             <none>   <none>",
    ].join("\n"),
  );
});
