import { parseQuantity } from "@agent-sandbox/api";

const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const one = 1_000_000_000n;

/**
 * The form in which a quantity is stored: an integer with the largest suffix of its own family (decimal, binary or
 * exponent) that is exact. `undefined` when the value is not a quantity.
 */
export function canonicalQuantity(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value);
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
