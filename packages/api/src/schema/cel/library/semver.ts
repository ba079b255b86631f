import type { Library } from "./library.ts";

const identifiers = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const grammar = new RegExp(
  `^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-(${identifiers}))?(?:\\+(${identifiers}))?$`,
);

// Longer than any real version.
const longest = 256;

/** A semantic version. */
export class Semver {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly before: readonly string[];

  constructor(numbers: readonly [bigint, bigint, bigint], before: readonly string[]) {
    this.numbers = numbers;
    this.before = before;
  }

  /** Pre-releases come before their release; build metadata is ignored. */
  compare(other: Semver): bigint {
    for (const [at, number] of this.numbers.entries()) {
      const difference = number - (other.numbers[at] ?? 0n);
      if (difference !== 0n) return difference < 0n ? -1n : 1n;
    }
    if (this.before.length === 0 || other.before.length === 0) {
      return BigInt(Math.sign(other.before.length - this.before.length));
    }
    return BigInt(compareIdentifiers(this.before, other.before));
  }

  equals(other: unknown): boolean {
    return other instanceof Semver && this.compare(other) === 0n;
  }
}

function compareIdentifiers(a: readonly string[], b: readonly string[]): number {
  for (const [at, left] of a.entries()) {
    const right = b[at];
    if (right === undefined) return 1;
    if (left === right) continue;
    const [leftIsNumber, rightIsNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
    if (leftIsNumber && rightIsNumber) return BigInt(left) < BigInt(right) ? -1 : 1;
    if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return a.length < b.length ? -1 : 0;
}

function semverOf(text: string): Semver | undefined {
  const [, major = "", minor = "", patch = "", before] = (text.length <= longest && grammar.exec(text)) || [];
  const numbers = [major, minor, patch].map((part) => (part === "" ? -1n : BigInt(part)));
  if (numbers.some((number) => number < 0n || number >= 2n ** 64n)) return undefined;
  const names = before?.split(".") ?? [];
  if (names.some((name) => /^0\d+$/.test(name))) return undefined;
  return new Semver(numbers as unknown as [bigint, bigint, bigint], names);
}

/** Normalises `v1.02` to `1.2.0`. */
function normalised(text: string): string | undefined {
  const parts = text.replace(/^v/, "").split(".");
  const three = parts.length > 3 ? [...parts.slice(0, 2), parts.slice(2).join(".")] : parts;
  const trimmed = three.map((part) => (part.length > 1 ? part.replace(/^0+/, "").replace(/^(?!\d)/, "0") : part));
  if (trimmed.length < 3 && /[+-]/.test(trimmed.at(-1) ?? "")) return undefined;
  return [...trimmed, "0", "0"].slice(0, Math.max(3, trimmed.length)).join(".");
}

function read(text: string, normalise = false): Semver | undefined {
  const plain = normalise ? normalised(text) : text;
  return plain === undefined ? undefined : semverOf(plain);
}

function toSemver(text: string, normalise = false): Semver {
  const found = read(text, normalise);
  if (found === undefined) throw new Error(`invalid semantic version ${JSON.stringify(text.slice(0, longest))}`);
  return found;
}

export const semver: Library = {
  types: { "kubernetes.Semver": Semver },
  equals: { "kubernetes.Semver": (a: Semver, b: Semver) => a.equals(b) },
  functions: {
    "semver(string): kubernetes.Semver": (text: string) => toSemver(text),
    "semver(string, bool): kubernetes.Semver": toSemver,
    "isSemver(string): bool": (text: string) => read(text) !== undefined,
    "isSemver(string, bool): bool": (text: string, normalise: boolean) => read(text, normalise) !== undefined,
    "kubernetes.Semver.isGreaterThan(kubernetes.Semver): bool": (a: Semver, b: Semver) => a.compare(b) > 0n,
    "kubernetes.Semver.isLessThan(kubernetes.Semver): bool": (a: Semver, b: Semver) => a.compare(b) < 0n,
    "kubernetes.Semver.compareTo(kubernetes.Semver): int": (a: Semver, b: Semver) => a.compare(b),
    "kubernetes.Semver.major(): int": ({ numbers }: Semver) => numbers[0],
    "kubernetes.Semver.minor(): int": ({ numbers }: Semver) => numbers[1],
    "kubernetes.Semver.patch(): int": ({ numbers }: Semver) => numbers[2],
  },
};
