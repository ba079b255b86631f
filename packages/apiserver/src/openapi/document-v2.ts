import { type OpenApiSchema, referenceOf } from "../resources/builtin-definitions.ts";
import type { ServedResource } from "../resources/registry.ts";
import { info } from "./document-v3.ts";
import { type Operation, type Parameter, pathsOf } from "./operations.ts";
import { schemasOf } from "./served-schemas.ts";

/** A schema of OpenAPI 2.0, which has fewer keywords than 3.0. */
export interface SchemaV2 {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: SchemaV2 };
  readonly additionalProperties?: SchemaV2 | boolean;
  readonly items?: SchemaV2;
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}

export interface ParameterV2 {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly type?: string;
  readonly schema?: SchemaV2;
}

export interface OperationV2 {
  readonly operationId: string;
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  readonly parameters: readonly ParameterV2[];
  readonly responses: { readonly [code: string]: { readonly description: string; readonly schema?: SchemaV2 } };
  readonly "x-kubernetes-action": string;
  readonly "x-kubernetes-group-version-kind": object;
}

export interface PathItemV2 {
  readonly parameters: readonly ParameterV2[];
  readonly operations: { readonly [method: string]: OperationV2 };
}

export interface DocumentV2 {
  readonly swagger: "2.0";
  readonly info: typeof info;
  readonly paths: { readonly [path: string]: PathItemV2 };
  readonly definitions: { readonly [name: string]: SchemaV2 };
}

/** The OpenAPI 2.0 document of all served resources, which older clients read. */
export function documentV2(resources: readonly ServedResource[]): DocumentV2 {
  const paths = resources.flatMap(pathsOf).map(({ path, parameters, operations }) => {
    const methods = Object.entries(operations).map(([method, one]) => [method, operation(one)] as const);
    return [path, { parameters: parameters.map(parameter), operations: Object.fromEntries(methods) }] as const;
  });
  const definitions = Object.entries(schemasOf(resources)).map(([name, schema]) => [name, toV2(schema)] as const);
  return { swagger: "2.0", info, paths: Object.fromEntries(paths), definitions: Object.fromEntries(definitions) };
}

/** The JSON form, in which methods and parameters are in the same object. */
export function jsonOfV2({ paths, ...rest }: DocumentV2): object {
  const items = Object.entries(paths).map(
    ([path, { parameters, operations }]) => [path, { ...operations, parameters }] as const,
  );
  return { ...rest, paths: Object.fromEntries(items) };
}

function operation({ id, action, kind, parameters, body, answer }: Operation): OperationV2 {
  const bodies =
    body === undefined ? [] : [{ name: "body", in: "body", required: action !== "delete", schema: toV2(body.schema) }];
  return {
    operationId: id,
    consumes: body?.types ?? ["*/*"],
    produces: ["application/json"],
    parameters: [...bodies, ...parameters.map(parameter)],
    responses: { "200": { description: "OK", schema: toV2(answer) }, "401": { description: "Unauthorized" } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": kind,
  };
}

function parameter({ name, in: place, required, type }: Parameter): ParameterV2 {
  return { name, in: place, ...(required === true ? { required } : {}), type };
}

const kept = ["description", "type", "format", "default", "enum", "pattern", "minimum", "maximum", "required"] as const;

function toV2(schema: OpenApiSchema): SchemaV2 {
  const reference = referenceOf(schema);
  const extensions = Object.entries(schema).filter(([key]) => key.startsWith("x-"));
  const { description } = schema;
  if (reference !== undefined) {
    const beside = description === undefined ? {} : { description };
    return { ...beside, ...Object.fromEntries(extensions), $ref: `#/definitions/${reference}` };
  }
  // OpenAPI 2.0 cannot express these. Leave them open, so that clients do not refuse what the server accepts.
  if (schema["x-kubernetes-preserve-unknown-fields"] === true || schema["x-kubernetes-int-or-string"] === true) {
    return { ...(description === undefined ? {} : { description }), ...Object.fromEntries(extensions) };
  }
  const { oneOf, properties, items, additionalProperties } = schema;
  return {
    ...Object.fromEntries(kept.flatMap((key) => (key in schema ? [[key, (schema as SchemaV2)[key]]] : []))),
    ...(oneOf === undefined ? {} : { type: "string" }),
    ...(properties === undefined ? {} : { properties: mapValues(properties, toV2) }),
    ...(items === undefined ? {} : { items: toV2(items) }),
    ...(typeof additionalProperties === "object" ? { additionalProperties: toV2(additionalProperties) } : {}),
    ...Object.fromEntries(extensions),
  };
}

function mapValues<A, B>(object: { readonly [key: string]: A }, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
