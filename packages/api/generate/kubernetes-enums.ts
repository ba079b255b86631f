import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Definitions, downloadModule, type OpenApiSchema } from "./kubernetes-definitions.ts";

/** The allowed values of fields, by definition and field. */
export type Enums = { readonly [definition: string]: { readonly [field: string]: FieldEnum } };

export interface FieldEnum {
  readonly values: readonly string[];
  /** Whether the field is a list whose items have these values. */
  readonly ofItems: boolean;
  /** The description of the field, which lists what the values mean. */
  readonly description: string | undefined;
}

/**
 * Reads them from the Go source from which kube-apiserver builds its documents, because the published documents leave them
 * out. The source is generated with one indented block for each field, so that its lines can be recognised by indentation.
 */
export async function fetchEnums(): Promise<Enums> {
  const source = join(await downloadModule(), "pkg/generated/openapi/zz_generated.openapi.go");
  return enumsIn(await readFile(source, "utf8"));
}

const definitionLine = /^func schema_(k8sio_api|pkg_apis)_([a-z0-9]+)_([a-z0-9]+)_(\w+)\(/;
/** The prefixes of definition names, by the prefixes of Go names. */
const origins: { readonly [origin: string]: string } = {
  k8sio_api: "io.k8s.api",
  pkg_apis: "io.k8s.apiextensions-apiserver.pkg.apis",
};
const fieldLine = /^\t{5}"([^"]+)": \{$/;
const descriptionLine = /^\t{7}Description:\s+(".*"),$/;
const partLine = /^\t{7}(Items|AdditionalProperties): /;
const enumLine = /^(\t{7}|\t{10})Enum:\s+\[\]interface\{\}\{(.*)\},$/;

export function enumsIn(source: string): Enums {
  const enums: Record<string, Record<string, FieldEnum>> = {};
  let [definition, field, part] = ["", "", ""];
  let description: string | undefined;
  for (const line of source.split("\n")) {
    const [, origin = "", group, version, kind] = definitionLine.exec(line) ?? [];
    if (kind !== undefined) definition = `${origins[origin]}.${group}.${version}.${kind}`;
    else if (line.startsWith("func ")) definition = "";
    const found = fieldLine.exec(line);
    if (found !== null) [field, part, description] = [found[1] as string, "", undefined];
    const [, quoted] = descriptionLine.exec(line) ?? [];
    if (quoted !== undefined) description = JSON.parse(quoted) as string;
    part = partLine.exec(line)?.[1] ?? part;
    const [, indent, values] = enumLine.exec(line) ?? [];
    if (values === undefined || definition === "") continue;
    const ofItems = indent?.length === 10;
    if (ofItems && part !== "Items") continue;
    const fields = (enums[definition] ??= {});
    fields[field] = { values: JSON.parse(`[${values}]`) as string[], ofItems, description };
  }
  return enums;
}

/** The definitions with the allowed values of their fields. */
export function addEnums(definitions: Definitions, enums: Enums): Definitions {
  const added = Object.entries(definitions).map(([name, definition]) => {
    const fields = Object.entries(enums[name] ?? {}).map(([field, { values, ofItems }]) => {
      const schema: OpenApiSchema = definition.properties?.[field] ?? {};
      const items = { ...schema.items, enum: values };
      return [field, ofItems ? { ...schema, items } : { ...schema, enum: values }] as const;
    });
    const properties = { ...definition.properties, ...Object.fromEntries(fields) };
    return [name, fields.length === 0 ? definition : { ...definition, properties }] as const;
  });
  return Object.fromEntries(added);
}
