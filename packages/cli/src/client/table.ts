/** The fields of a Kubernetes `Table` that printing needs. */
export interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[];
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly object?: {
      readonly metadata?: {
        readonly namespace?: string;
        readonly name?: string;
        readonly annotations?: Readonly<Record<string, string>>;
      };
    };
  }[];
}

/** Formats a table like kubectl: upper-case headers, three spaces between columns, priority columns only in wide output. */
export function formatTable(table: Table, options: { wide?: boolean; namespaces?: boolean } = {}): string {
  const shown = table.columnDefinitions
    .map((column, index) => ({ name: column.name.toUpperCase(), index, priority: column.priority ?? 0 }))
    .filter(({ priority }) => options.wide === true || priority === 0);
  const heads = [...(options.namespaces === true ? ["NAMESPACE"] : []), ...shown.map(({ name }) => name)];
  const rows = table.rows.map((row) => [
    ...(options.namespaces === true ? [row.object?.metadata?.namespace ?? ""] : []),
    ...shown.map(({ index }) => formatCell(row.cells[index])),
  ]);
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => (row[column] ?? "").length)));
  return [heads, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

function formatCell(cell: unknown): string {
  if (cell === undefined || cell === null || cell === "") return "<none>";
  return typeof cell === "string" ? cell : JSON.stringify(cell);
}
