/** An amount in units of 10^-9, the resolution of Kubernetes. */
export interface Quantity {
  readonly nanos: bigint;
}

const grammar = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;

const decimalExponents = new Map(Object.entries({ n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }));
const binaryPowers = new Map(Object.entries({ Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 }));

// Kubernetes keeps amounts below 2^63, which are far shorter than these limits.
const maxLength = 64;
const maxExponent = 64;

/** Most objects contain the same few quantities, and creating big integers is slow. */
const known = new Map<string, Quantity>();
const maxKnown = 1024;

/** Parses a Kubernetes quantity. Fractions below 10^-9 are rounded away from zero. */
export function parseQuantity(text: string): Quantity | { error: string } {
  const found = known.get(text);
  if (found !== undefined) return found;
  const read = readQuantity(text);
  if ("error" in read) return read;
  if (known.size >= maxKnown) known.clear();
  known.set(text, read);
  return read;
}

function readQuantity(text: string): Quantity | { error: string } {
  const match = text.length <= maxLength ? grammar.exec(text) : null;
  const [, sign = "", whole = "", fraction = "", suffix = "", exponent = "0"] = match ?? [];
  const digits = whole + fraction;
  if (match === null || digits === "" || Math.abs(Number(exponent)) > maxExponent) {
    return { error: `Cannot read quantity "${text.slice(0, maxLength)}": want a number such as 100m, 1.5Gi or 2e3` };
  }
  const binary = 1024n ** BigInt(binaryPowers.get(suffix) ?? 0);
  const scale = 9 - fraction.length + Number(exponent) + (decimalExponents.get(suffix) ?? 0);
  const nanos = scaled(BigInt(digits) * binary, scale);
  return { nanos: sign === "-" ? -nanos : nanos };
}

function scaled(amount: bigint, exponent: number): bigint {
  if (exponent >= 0) return amount * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return (amount + divisor - 1n) / divisor;
}

/** -1, 0 or 1 if `a` is less than, equal to or greater than `b`; undefined if either is not a quantity. */
export function compareQuantities(a: string, b: string): -1 | 0 | 1 | undefined {
  const [first, second] = [parseQuantity(a), parseQuantity(b)];
  if ("error" in first || "error" in second) return undefined;
  if (first.nanos === second.nanos) return 0;
  return first.nanos < second.nanos ? -1 : 1;
}
