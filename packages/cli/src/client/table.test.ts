import { expect, test } from "vitest";
import { formatTable, GrowingTable, type Table } from "./table.ts";

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

test("a growing table prints its headers once and keeps its columns aligned", () => {
  const table = new GrowingTable();
  const columnDefinitions = [{ name: "Name" }, { name: "Ready" }];
  expect(table.add({ columnDefinitions, rows: [{ cells: ["a-long-name", "False"] }] })).toBe(
    "NAME          READY\na-long-name   False",
  );
  expect(table.add({ columnDefinitions, rows: [{ cells: ["b", "True"] }] })).toBe("b             True");
});
