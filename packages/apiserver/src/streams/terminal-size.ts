import { valueAt } from "../api-object.ts";

const longestSide = 65_535;

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Returns undefined for invalid sizes, which are ignored. */
export function parseTerminalSize(text: string): TerminalSize | undefined {
  const size = parse(text);
  const [columns, rows] = [valueAt(size, "Width"), valueAt(size, "Height")];
  return fits(columns) && fits(rows) ? { columns, rows } : undefined;
}

function fits(side: unknown): side is number {
  return Number.isInteger(side) && Number(side) > 0 && Number(side) <= longestSide;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
