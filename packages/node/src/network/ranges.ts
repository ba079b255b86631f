import { formatAddress, type Subnet, sizeOf } from "./subnet.ts";

/** An inclusive range of addresses or ports. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export const lastAddress: number = 2 ** 32 - 1;

export const rangeOf = ({ base, prefix }: Subnet): Range => ({ from: base, to: base + sizeOf(prefix) - 1 });

/** The same numbers as sorted ranges that neither overlap nor touch. */
export function union(ranges: readonly Range[]): Range[] {
  const merged: Range[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to + 1) merged.push(range);
    else if (range.to > last.to) merged[merged.length - 1] = { from: last.from, to: range.to };
  }
  return merged;
}

/** The parts of a range outside the holes. */
export function without(range: Range, holes: readonly Range[]): Range[] {
  const left: Range[] = [];
  let next = range.from;
  for (const { from, to } of union(holes)) {
    if (to < next) continue;
    if (from > range.to) break;
    if (from > next) left.push({ from: next, to: from - 1 });
    next = to + 1;
  }
  if (next <= range.to) left.push({ from: next, to: range.to });
  return left;
}

/** Whether a number is in one of the ranges of a `union`. */
export function includes(ranges: readonly Range[], value: number): boolean {
  return ranges.some(({ from, to }) => from <= value && value <= to);
}

export function formatAddresses({ from, to }: Range): string {
  return from === to ? formatAddress(from) : `${formatAddress(from)}-${formatAddress(to)}`;
}
