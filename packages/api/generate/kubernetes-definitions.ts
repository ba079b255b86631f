import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/**
 * The Kubernetes release whose types are inlined into our CRDs. Its published OpenAPI documents travel in the Go module
 * of Kubernetes itself; the sum pins their content.
 */
export const kubernetesModule = {
  path: "k8s.io/kubernetes",
  version: "v1.36.3",
  sum: "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o=",
} as const;

/** The file of the published documents that defines the types of `v1` or of `group/version`. */
function documentFile(apiVersion: string): string {
  const path = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
  return `${path.replaceAll("/", "__")}_openapi.json`;
}

/** A schema of Kubernetes' OpenAPI v3 documents, as far as we read it. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: OpenApiSchema };
  readonly additionalProperties?: OpenApiSchema;
  readonly items?: OpenApiSchema;
  readonly allOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
}

export type Definitions = { readonly [name: string]: OpenApiSchema };

const refPrefix = "#/components/schemas/";

export function definitionName(ref: string): string {
  return ref.slice(refPrefix.length);
}

/**
 * Downloads the pinned module and returns the definitions reachable from `roots`, without their descriptions. They are read from
 * the documents of `apiVersions`, each of which contains everything it refers to.
 */
export async function fetchDefinitions(
  roots: readonly string[],
  apiVersions: readonly string[] = ["v1", "networking.k8s.io/v1"],
): Promise<Definitions> {
  return reachable(await fetchDocuments(apiVersions), roots);
}

/** Downloads the pinned module and returns all definitions in the documents of `apiVersions`. */
export async function fetchDocuments(apiVersions: readonly string[]): Promise<Definitions> {
  const folder = join(await downloadModule(), "api/openapi-spec/v3");
  const all: Record<string, OpenApiSchema> = {};
  for (const apiVersion of apiVersions) {
    const document = JSON.parse(await readFile(join(folder, documentFile(apiVersion)), "utf8")) as {
      components: { schemas: Record<string, OpenApiSchema> };
    };
    Object.assign(all, document.components.schemas);
  }
  return all;
}

/** The folder of the pinned module, after its checksum was verified. */
export async function downloadModule(): Promise<string> {
  const { path, version, sum } = kubernetesModule;
  const module = `${path}@${version}`;
  const { stdout } = await promisify(execFile)("go", ["mod", "download", "-json", module]).catch((cause: unknown) => {
    const detail = (cause as { stdout?: string }).stdout?.trim() || String(cause);
    throw new Error(
      `Cannot download the Go module "${module}" (needs the go command and a module proxy or a filled module cache): ${detail}`,
      { cause },
    );
  });
  const found = JSON.parse(stdout) as { Dir: string; Sum: string };
  if (found.Sum !== sum) {
    throw new Error(`Cannot use the Go module "${module}": its sum is "${found.Sum}", pinned is "${sum}"`);
  }
  return found.Dir;
}

/** The definitions that `roots` name and all that they refer to, without descriptions, sorted by name. */
export function reachable(all: Definitions, roots: readonly string[]): Definitions {
  const kept = new Map<string, OpenApiSchema>();
  const visit = (name: string): void => {
    if (kept.has(name)) return;
    const definition = all[name];
    if (definition === undefined) throw new Error(`Cannot find the definition "${name}" in ${kubernetesModule.path}`);
    kept.set(name, withoutDescriptions(definition));
    for (const ref of refsOf(definition)) visit(definitionName(ref));
  };
  for (const root of roots) visit(root);
  return Object.fromEntries([...kept].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function* refsOf(schema: OpenApiSchema): Generator<string> {
  if (schema.$ref !== undefined) yield schema.$ref;
  for (const child of childrenOf(schema)) yield* refsOf(child);
}

function childrenOf(schema: OpenApiSchema): OpenApiSchema[] {
  return [
    ...Object.values(schema.properties ?? {}),
    ...(schema.additionalProperties === undefined ? [] : [schema.additionalProperties]),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.allOf ?? []),
  ];
}

function withoutDescriptions(schema: OpenApiSchema): OpenApiSchema {
  return JSON.parse(JSON.stringify(schema, unlessDescription)) as OpenApiSchema;
}

/** A property may be called "description" too, but then its value is a schema. */
function unlessDescription(key: string, value: unknown): unknown {
  return key === "description" && typeof value === "string" ? undefined : value;
}
