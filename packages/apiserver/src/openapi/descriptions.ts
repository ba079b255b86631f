import { readFileSync } from "node:fs";
import type { OpenApiSchema } from "../resources/builtin-definitions.ts";

/** Kubernetes' own descriptions of the built-in kinds, by the names of their definitions. */
export interface Descriptions {
  /** The release they were taken from. */
  readonly kubernetes: string;
  readonly definitions: { readonly [name: string]: Description | undefined };
}

interface Description {
  readonly description?: string | undefined;
  readonly fields: { readonly [field: string]: string | undefined };
}

let loaded: Descriptions | undefined;

/** Read when the first document is written. Without the file, which `make setup` generates, schemas have no descriptions. */
function descriptions(): Descriptions {
  loaded ??= read(new URL("descriptions.generated.json", import.meta.url));
  return loaded;
}

function read(file: URL): Descriptions {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Descriptions;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { kubernetes: "", definitions: {} };
    throw error;
  }
}

/** The schema with the descriptions of the built-in definition `name`, where it has none of its own. */
export function describeAs(name: string, schema: OpenApiSchema): OpenApiSchema {
  const { description, fields } = descriptions().definitions[name] ?? { fields: {} };
  return withDescription(describeFields(schema, fields), description);
}

/** Describes the fields that objects of custom kinds share with all others. */
export function describeCustom(schema: OpenApiSchema): OpenApiSchema {
  const { fields } = descriptions().definitions["io.k8s.api.core.v1.Pod"] ?? { fields: {} };
  const { apiVersion, kind, metadata } = fields;
  return describeFields(schema, { apiVersion, kind, metadata });
}

function describeFields(schema: OpenApiSchema, fields: Description["fields"]): OpenApiSchema {
  if (schema.properties === undefined) return schema;
  const properties = Object.entries(schema.properties).map(
    ([name, property]) => [name, withDescription(property, fields[name])] as const,
  );
  return { ...schema, properties: Object.fromEntries(properties) };
}

function withDescription(schema: OpenApiSchema, description: string | undefined): OpenApiSchema {
  return description === undefined || schema.description !== undefined ? schema : { ...schema, description };
}
