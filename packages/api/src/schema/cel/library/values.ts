import { evaluate } from "@marcbachmann/cel-js";

/** Seconds and nanoseconds of one sign. */
export interface DurationValue {
  readonly seconds: bigint;
  readonly nanos: number;
}

interface UnsignedValue {
  valueOf(): bigint;
}

// The library does not export the classes of its values, but every value knows its own.
const classOf = (expression: string): unknown => (evaluate(expression) as object).constructor;

export const Duration: new (seconds: bigint, nanos: number) => DurationValue = classOf("duration('1s')") as new (
  seconds: bigint,
  nanos: number,
) => DurationValue;
export const UnsignedInt: new (value: bigint) => UnsignedValue = classOf("1u") as new (value: bigint) => UnsignedValue;
export const Type: new (name: string) => { readonly name: string } = classOf("type(1)") as new (
  name: string,
) => {
  readonly name: string;
};

export const nanosOf = ({ seconds, nanos }: DurationValue): bigint => seconds * 1_000_000_000n + BigInt(nanos);

export function durationOf(nanos: bigint): DurationValue {
  return new Duration(nanos / 1_000_000_000n, Number(nanos % 1_000_000_000n));
}

// The library's own sums may have seconds and nanoseconds of different signs, and are then equal to nothing.
Object.assign(Duration.prototype as object, {
  addDuration(this: DurationValue, other: DurationValue): DurationValue {
    return durationOf(int64(nanosOf(this) + nanosOf(other)));
  },
  subtractDuration(this: DurationValue, other: DurationValue): DurationValue {
    return durationOf(int64(nanosOf(this) - nanosOf(other)));
  },
});

const longest = 2n ** 63n;

/** Whole numbers have 64 bits; what does not fit is an error, never another number. */
export function int64(value: bigint): bigint {
  if (value < -longest || value >= longest) throw new Error("integer overflow");
  return value;
}
