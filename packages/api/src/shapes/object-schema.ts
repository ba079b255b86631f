import * as z from "zod";

/**
 * The zod schemas of all fields of the interface `T`. The compiler rejects a missing or additional field, and a field that is
 * optional in one and required in the other, so that the interfaces and the schemas cannot differ.
 */
export type Fields<T> = {
  [K in keyof T]-?: object extends Pick<T, K>
    ? z.ZodExactOptional<z.ZodType<Exclude<T[K], undefined>>>
    : z.ZodType<T[K]> & { unwrap?: never };
};

/** Unknown fields are dropped, as by the API server's pruning. */
export function objectOf<T>(fields: Fields<T>): z.ZodType<T> {
  return z.object(fields) as unknown as z.ZodType<T>;
}

/** A field with a default that the API server stores. The field stays optional for code that reads objects not yet stored. */
export function defaulted<T>(schema: z.ZodType<T>, value: T): z.ZodExactOptional<z.ZodType<T>> {
  return schema.meta({ default: value }).exactOptional();
}

export const text: z.ZodType<string> = z.string();

export const textMap: z.ZodType<Record<string, string>> = z.record(z.string(), z.string());

export const flag: z.ZodType<boolean> = z.boolean();

/** RFC 3339 with an offset, as in Kubernetes. */
export const dateTime: z.ZodType<string> = z.iso.datetime({ offset: true });

/** An int32, optionally with a minimum and a maximum. */
export function int32(minimum?: number, maximum?: number): z.ZodType<number> {
  return bounded(z.int32().meta({ format: "int32" }), minimum, maximum);
}

/** An int64. Numbers beyond 2^53 are rejected, because JavaScript cannot represent them exactly. */
export function int64(minimum?: number, maximum?: number): z.ZodType<number> {
  return bounded(z.int().meta({ format: "int64" }), minimum, maximum);
}

/** A list that server-side apply replaces as a whole. */
export function atomicListOf<T>(item: z.ZodType<T>): z.ZodType<T[]> {
  return z.array(item).meta({ "x-kubernetes-list-type": "atomic" });
}

export function listOf<T>(item: z.ZodType<T>): z.ZodType<T[]> {
  return z.array(item);
}

/** A Kubernetes type. Its structural schema is taken from Kubernetes' OpenAPI document when the CRDs are generated. */
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
