import bundle from "./builtin-schemas.generated.json" with { type: "json" };

/** The part of a schema in Kubernetes' OpenAPI documents that the server uses. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: OpenApiSchema };
  readonly additionalProperties?: boolean | OpenApiSchema;
  readonly items?: OpenApiSchema;
  readonly allOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}

/** The release of Kubernetes whose built-in kinds are served, such as `v1.36.3`. */
export const kubernetesVersion: string = bundle.kubernetes;

/** The schemas that Kubernetes publishes for the built-in kinds and everything they refer to, without descriptions. */
export const builtinDefinitions: { readonly [name: string]: OpenApiSchema | undefined } = bundle.definitions;

const refPrefix = "#/components/schemas/";

/** The definition that a schema refers to, if any. The schema can also have extensions and a default. */
export function referenceOf({ $ref, allOf }: OpenApiSchema): string | undefined {
  return ($ref ?? allOf?.[0]?.$ref)?.slice(refPrefix.length);
}

export function referenceTo(definition: string): OpenApiSchema {
  return { $ref: refPrefix + definition };
}
