import { parseQuantity } from "@agent-sandbox/api";

const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const one = 1_000_000_000n;

/** The same few quantities are in all objects: working one out takes longer than all else that is done to a field. */
const known = new Map<string, string>();
const maxKnown = 1024;
const maxKnownLength = 32;

/**
 * The one way a quantity is stored, whichever way it was written: no fraction, the largest suffix of its own kind that
 * loses nothing. `undefined` when it is no quantity.
 */
export function canonicalQuantity(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value);
  const found = known.get(text);
  if (found !== undefined) return found;
  const written = write(text);
  if (written === undefined || text.length > maxKnownLength) return written;
  if (known.size >= maxKnown) known.clear();
  known.set(text, written);
  return written;
}

function write(text: string): string | undefined {
  const quantity = parseQuantity(text);
  if ("error" in quantity) return undefined;
  const { nanos } = quantity;
  const small = nanos > -1024n * one && nanos < 1024n * one;
  if (text.endsWith("i") && !small) return binary(nanos);
  return /[eE][+-]?\d+$/.test(text) ? exponential(nanos) : decimal(nanos);
}

function binary(nanos: bigint): string {
  const whole = nanos / one + (nanos % one > 0n ? 1n : 0n);
  const { mantissa, steps } = reduced(whole, 1024n, binarySuffixes.length - 1);
  return `${mantissa}${binarySuffixes[steps]}`;
}

function decimal(nanos: bigint): string {
  if (nanos === 0n) return "0";
  const { mantissa, steps } = reduced(nanos, 1000n, decimalSuffixes.length - 1);
  return `${mantissa}${decimalSuffixes[steps]}`;
}

function exponential(nanos: bigint): string {
  if (nanos === 0n) return "0";
  const { mantissa, steps } = reduced(nanos, 1000n, Number.POSITIVE_INFINITY);
  const exponent = 3 * steps - 9;
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}

function reduced(value: bigint, base: bigint, most: number): { mantissa: bigint; steps: number } {
  let mantissa = value;
  let steps = 0;
  while (steps < most && mantissa % base === 0n && mantissa !== 0n) {
    mantissa /= base;
    steps += 1;
  }
  return { mantissa, steps };
}
