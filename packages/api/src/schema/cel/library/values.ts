import { evaluate } from "@marcbachmann/cel-js";

/** Seconds and nanoseconds with the same sign. */
export interface DurationValue {
  readonly seconds: bigint;
  readonly nanos: number;
}

interface UnsignedValue {
  valueOf(): bigint;
}

// The library does not export the classes of its values, so take them from a value.
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

// Results of the library can have seconds and nanoseconds with different signs, which would break equality.
Object.assign(Duration.prototype as object, {
  addDuration(this: DurationValue, other: DurationValue): DurationValue {
    return durationOf(int64(nanosOf(this) + nanosOf(other)));
  },
  subtractDuration(this: DurationValue, other: DurationValue): DurationValue {
    return durationOf(int64(nanosOf(this) - nanosOf(other)));
  },
});

const longest = 2n ** 63n;

/** Integers have 64 bits. Throws on overflow. */
export function int64(value: bigint): bigint {
  if (value < -longest || value >= longest) throw new Error("integer overflow");
  return value;
}
