import * as z from "zod";

/**
 * The zod fields of the interface `T`, one for each: the compiler refuses a field too many, a field too few, an optional
 * one declared required and the reverse. This is what keeps the hand-written interfaces and the schemas one source.
 */
export type Fields<T> = {
  [K in keyof T]-?: object extends Pick<T, K>
    ? z.ZodExactOptional<z.ZodType<Exclude<T[K], undefined>>>
    : z.ZodType<T[K]> & { unwrap?: never };
};

/** Unknown fields are dropped, as the API server prunes them. */
export function objectOf<T>(fields: Fields<T>): z.ZodType<T> {
  return z.object(fields) as unknown as z.ZodType<T>;
}

/** A default that the API server writes into the stored object. Readers of unstored objects still see the field as optional. */
export function defaulted<T>(schema: z.ZodType<T>, value: T): z.ZodExactOptional<z.ZodType<T>> {
  return schema.meta({ default: value }).exactOptional();
}

export const text: z.ZodType<string> = z.string();

export const textMap: z.ZodType<Record<string, string>> = z.record(z.string(), z.string());

export const flag: z.ZodType<boolean> = z.boolean();

/** RFC 3339 with an offset, as Kubernetes writes and reads times. */
export const dateTime: z.ZodType<string> = z.iso.datetime({ offset: true });

/** Bounds in the order minimum, maximum; each may be left out. */
export function int32(minimum?: number, maximum?: number): z.ZodType<number> {
  return bounded(z.int32().meta({ format: "int32" }), minimum, maximum);
}

/** Whole numbers beyond 2^53 cannot be told apart in JavaScript, so they are refused here though the wire allows them. */
export function int64(minimum?: number, maximum?: number): z.ZodType<number> {
  return bounded(z.int().meta({ format: "int64" }), minimum, maximum);
}

/** A list that has one owner: server-side apply replaces it whole. */
export function atomicListOf<T>(item: z.ZodType<T>): z.ZodType<T[]> {
  return z.array(item).meta({ "x-kubernetes-list-type": "atomic" });
}

export function listOf<T>(item: z.ZodType<T>): z.ZodType<T[]> {
  return z.array(item);
}

/** A Kubernetes type whose structural schema comes from Kubernetes' own OpenAPI document when the CRDs are generated. */
export function kubernetesType<T extends object>(definition: string): z.ZodType<T> {
  return z
    .custom<T>((value) => typeof value === "object" && value !== null && !Array.isArray(value))
    .meta({ [kubernetesTypeKey]: definition });
}

export const kubernetesTypeKey = "x-kubernetes-definition";

function bounded(schema: z.ZodNumber, minimum?: number, maximum?: number): z.ZodType<number> {
  const from = minimum === undefined ? schema : schema.min(minimum);
  return maximum === undefined ? from : from.max(maximum);
}
