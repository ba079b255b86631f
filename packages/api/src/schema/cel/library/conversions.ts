import { parseDurationNanos } from "../../../primitives/duration.ts";
import type { Library } from "./library.ts";
import { Duration, type DurationValue, durationOf, int64, nanosOf, Type, UnsignedInt } from "./values.ts";

/** The result of `string(value)`, or `undefined` for unsupported types. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (typeof value === "number") return doubleText(value);
  if (value instanceof UnsignedInt) return String(value.valueOf());
  if (value instanceof Date) return value.toISOString().replace(/\.?0*Z$/, "Z");
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Uint8Array) return bytesText(value);
  return value instanceof Type ? value.name : undefined;
}

function bytesText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error("invalid UTF-8 in bytes, cannot convert to string");
  }
}

/** Formats as Go does: with an exponent for more than six digits before the point. */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  const [mantissa = "", exponent = "+0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (Object.is(value, -0)) return "-0";
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function durationText(duration: DurationValue): string {
  const nanos = nanosOf(duration);
  const sign = nanos < 0n ? "-" : "";
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = String(size % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${sign}${size / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}s`;
}

export function toDuration(text: string): DurationValue {
  const nanos = parseDurationNanos(text);
  if (nanos === undefined) throw new Error(`invalid duration ${JSON.stringify(text)}`);
  return durationOf(int64(nanos));
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const earliest = Date.parse("0001-01-01T00:00:00Z");
const latest = Date.parse("9999-12-31T23:59:59.999Z");

/** Parses RFC 3339 with a precision of milliseconds. */
export function toTimestamp(text: string): Date {
  const date = new Date(rfc3339.test(text) ? text : Number.NaN);
  const day = Number(text.slice(8, 10));
  // JavaScript accepts 30 February as 2 March; Go does not.
  const daysInMonth = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
  if (Number.isNaN(date.getTime()) || day > daysInMonth) throw new Error(`invalid timestamp ${JSON.stringify(text)}`);
  return bounded(date);
}

function bounded(date: Date): Date {
  if (!(date.getTime() >= earliest && date.getTime() <= latest)) throw new Error("timestamp overflow");
  return date;
}

function toInteger(text: string): bigint {
  if (!/^[-+]?\d{1,20}$/.test(text)) throw new Error(`type conversion error from 'string' to 'int'`);
  return int64(BigInt(text.replace(/^\+/, "")));
}

function truncated(value: number): bigint {
  // The largest double below 2^63 is 1024 less.
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw new Error("integer overflow");
  return BigInt(Math.trunc(value));
}

function toDouble(text: string): number {
  if (/^[+-]?(inf|infinity)$/i.test(text)) {
    return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (/^[+-]?nan$/i.test(text)) return Number.NaN;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) {
    throw new Error(`type conversion error from 'string' to 'double'`);
  }
  return Number(text);
}

const timestamp = "google.protobuf.Timestamp";
const duration = "google.protobuf.Duration";
const same = <T>(value: T): T => value;

export const conversions: Library = {
  functions: {
    ...Object.fromEntries(
      ["string", "bool", "int", "uint", "double", "bytes", timestamp, duration].map((type) => [
        `string(${type}): string`,
        textOf,
      ]),
    ),
    [`duration(string): ${duration}`]: toDuration,
    [`duration(${duration}): ${duration}`]: same,
    [`timestamp(string): ${timestamp}`]: toTimestamp,
    [`timestamp(int): ${timestamp}`]: (seconds: bigint) => bounded(new Date(Number(seconds) * 1000)),
    [`timestamp(${timestamp}): ${timestamp}`]: same,
    "int(int): int": same,
    "int(uint): int": (value: { valueOf(): bigint }) => int64(value.valueOf()),
    "int(double): int": truncated,
    "int(string): int": toInteger,
    [`int(${timestamp}): int`]: (date: Date) => BigInt(Math.floor(date.getTime() / 1000)),
    "double(double): double": same,
    "double(int): double": Number,
    "double(uint): double": (value: { valueOf(): bigint }) => Number(value.valueOf()),
    "double(string): double": toDouble,
  },
};
