import { parseQuantity } from "../../../primitives/quantity.ts";
import type { Library } from "./library.ts";

const nano = 1_000_000_000n;
const largest = 2n ** 63n - 1n;

/** A quantity in CEL. */
export class Quantity {
  readonly nanos: bigint;
  /** Whether Kubernetes stores it as a 64-bit integer. Only then `asInteger` works. */
  readonly isWhole: boolean;

  constructor(nanos: bigint, isWhole: boolean) {
    this.nanos = nanos;
    const size = nanos < 0n ? -nanos : nanos;
    this.isWhole = isWhole && size / nano <= largest;
  }

  plus({ nanos, isWhole }: Quantity): Quantity {
    return new Quantity(this.nanos + nanos, this.isWhole && isWhole);
  }

  minus({ nanos, isWhole }: Quantity): Quantity {
    return new Quantity(this.nanos - nanos, this.isWhole && isWhole);
  }

  compare({ nanos }: Quantity): bigint {
    return this.nanos === nanos ? 0n : this.nanos < nanos ? -1n : 1n;
  }

  equals(other: unknown): boolean {
    return other instanceof Quantity && other.nanos === this.nanos;
  }
}

function quantityOf(text: string): Quantity | undefined {
  // Kubernetes reads a suffix without digits, such as `Mi`, as zero.
  const parsed = parseQuantity(text === "" ? text : text.replace(/^[+-]?/, "$&0"));
  if ("error" in parsed) return undefined;
  // Kubernetes truncates larger binary quantities.
  const isBinary = text.endsWith("i");
  const limit = largest * nano;
  const nanos = isBinary && parsed.nanos > limit ? limit : parsed.nanos;
  return new Quantity(nanos, isKeptWhole(text));
}

/** Depends on the notation, as in Kubernetes: `1000m` is one, but is not stored as an integer. */
function isKeptWhole(text: string): boolean {
  const [, whole = "", fraction = "", suffix = ""] = /^[+-]?0*(\d*)(?:\.(\d*))?(.*)$/.exec(text) ?? [];
  const binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].indexOf(suffix) + 1;
  if (binary > 0) return fraction === "" && 15 - whole.length - Math.trunc(binary * 3) - 1 >= 0;
  const power = /^[eE]/.test(suffix) && suffix.length > 1 ? Number(suffix.slice(1)) : (powers.get(suffix) ?? 0);
  return whole.length + fraction.length <= 18 && power >= fraction.length;
}

const powers = new Map(Object.entries({ n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }));

function toQuantity(text: string): Quantity {
  const quantity = quantityOf(text);
  if (quantity === undefined) throw new Error(`quantities must match the regular expression of a quantity: ${text}`);
  return quantity;
}

const ofInt = (value: bigint): Quantity => new Quantity(value * nano, true);

function asInteger({ isWhole, nanos }: Quantity): bigint {
  if (!isWhole) throw new Error("cannot convert value to integer");
  return nanos / nano;
}

export const quantity: Library = {
  types: { "kubernetes.Quantity": Quantity },
  equals: { "kubernetes.Quantity": (a: Quantity, b: Quantity) => a.equals(b) },
  functions: {
    "quantity(string): kubernetes.Quantity": toQuantity,
    "isQuantity(string): bool": (text: string) => quantityOf(text) !== undefined,
    "sign(kubernetes.Quantity): int": (value: Quantity) => value.compare(ofInt(0n)),
    "kubernetes.Quantity.isGreaterThan(kubernetes.Quantity): bool": (a: Quantity, b: Quantity) => a.compare(b) > 0n,
    "kubernetes.Quantity.isLessThan(kubernetes.Quantity): bool": (a: Quantity, b: Quantity) => a.compare(b) < 0n,
    "kubernetes.Quantity.compareTo(kubernetes.Quantity): int": (a: Quantity, b: Quantity) => a.compare(b),
    "kubernetes.Quantity.asApproximateFloat(): double": ({ nanos }: Quantity) => Number(nanos) / Number(nano),
    "kubernetes.Quantity.asInteger(): int": asInteger,
    "kubernetes.Quantity.isInteger(): bool": ({ isWhole }: Quantity) => isWhole,
    "kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity": (a: Quantity, b: Quantity) => a.plus(b),
    "kubernetes.Quantity.add(int): kubernetes.Quantity": (a: Quantity, b: bigint) => a.plus(ofInt(b)),
    "kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity": (a: Quantity, b: Quantity) => a.minus(b),
    "kubernetes.Quantity.sub(int): kubernetes.Quantity": (a: Quantity, b: bigint) => a.minus(ofInt(b)),
  },
};
