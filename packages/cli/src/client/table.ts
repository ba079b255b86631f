import { printable } from "./printable.ts";

/** The fields of a Kubernetes `Table` that printing needs. */
export interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[];
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly object?: {
      readonly metadata?: {
        readonly namespace?: string;
        readonly name?: string;
        readonly resourceVersion?: string;
        readonly annotations?: Readonly<Record<string, string>>;
      };
    };
  }[];
}

export interface TableOptions {
  readonly wide?: boolean;
  readonly namespaces?: boolean;
}

/** Formats a table like kubectl: upper-case headers, three spaces between columns, priority columns only in wide output. */
export function formatTable(table: Table, options: TableOptions = {}): string {
  return new GrowingTable(options).add(table);
}

/** A table that gets rows while it is shown. Its columns keep their widths unless a cell needs more. */
export class GrowingTable {
  readonly #options: TableOptions;
  readonly #widths: number[] = [];
  #hasHeads = false;

  constructor(options: TableOptions = {}) {
    this.#options = options;
  }

  /** The lines of the rows; the first time, below the headers. */
  add(table: Table): string {
    const { wide = false, namespaces = false } = this.#options;
    const shown = table.columnDefinitions
      .map((column, index) => ({ name: column.name.toUpperCase(), index, priority: column.priority ?? 0 }))
      .filter(({ priority }) => wide || priority === 0);
    const rows = table.rows.map((row) => [
      ...(namespaces ? [row.object?.metadata?.namespace ?? ""] : []),
      ...shown.map(({ index }) => formatCell(row.cells[index])),
    ]);
    if (!this.#hasHeads) rows.unshift([...(namespaces ? ["NAMESPACE"] : []), ...shown.map(({ name }) => name)]);
    this.#hasHeads = true;
    for (const row of rows) {
      for (const [column, cell] of row.entries()) {
        this.#widths[column] = Math.max(this.#widths[column] ?? 0, cell.length);
      }
    }
    return rows.map((row) => this.#line(row)).join("\n");
  }

  #line(row: readonly string[]): string {
    return row
      .map((cell, column) => cell.padEnd(this.#widths[column] ?? 0))
      .join("   ")
      .trimEnd();
  }
}

function formatCell(cell: unknown): string {
  if (cell === undefined || cell === null || cell === "") return "<none>";
  return printable(typeof cell === "string" ? cell : JSON.stringify(cell));
}
