import type { Tenant } from "../tenant.ts";

/** A part of an OpenAPI document that describes a value. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly enum?: readonly unknown[];
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-group-version-kind"?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

/** A kind that the API server serves, with its schema. */
export interface ServedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
  readonly schema: Schema;
  /** Follows the references of `schema`. */
  readonly resolve: (schema: Schema) => Schema;
}

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** All kinds in the server's discovery and OpenAPI documents, so that new kinds are attacked without a change here. */
export async function servedKinds(tenant: Tenant): Promise<ServedKind[]> {
  const groups = (await ask<{ groups: { versions: { groupVersion: string }[] }[] }>(tenant, "/apis")).groups;
  const versions = ["v1", ...groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion))];
  const kinds = await Promise.all(versions.map((version) => kindsOf(tenant, version)));
  return kinds.flat();
}

async function kindsOf(tenant: Tenant, apiVersion: string): Promise<ServedKind[]> {
  const folder = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
  const { resources } = await ask<{ resources: readonly ApiResource[] }>(tenant, `/${folder}`);
  const { components } = await ask<{ components?: { schemas?: Record<string, Schema> } }>(
    tenant,
    `/openapi/v3/${folder}`,
  );
  const schemas = components?.schemas ?? {};
  const resolve = (schema: Schema): Schema => {
    const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
    return reference === undefined ? schema : resolve(schemas[reference.replace("#/components/schemas/", "")] ?? {});
  };
  return resources
    .filter(({ name }) => !name.includes("/"))
    .map(({ name, kind, namespaced, verbs }) => ({
      apiVersion,
      kind,
      plural: name,
      namespaced,
      verbs,
      subresources: resources
        .filter((other) => other.name.startsWith(`${name}/`))
        .map((other) => other.name.slice(name.length + 1)),
      schema: Object.values(schemas).find((schema) => describes(schema, apiVersion, kind)) ?? {},
      resolve,
    }));
}

function describes(schema: Schema, apiVersion: string, wanted: string): boolean {
  const kinds = schema["x-kubernetes-group-version-kind"] ?? [];
  return kinds.some(
    ({ group, version, kind }) => kind === wanted && [group, version].filter(Boolean).join("/") === apiVersion,
  );
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
async function ask<T>(tenant: Tenant, path: string): Promise<T> {
  const { status, body } = await tenant.request("GET", path);
  if (status !== 200) throw new Error(`Cannot read "${path}": ${status} ${JSON.stringify(body)}`);
  return body as T;
}

/** The request path of the objects of a kind. */
export function pathOf(
  { apiVersion, plural, namespaced }: Pick<ServedKind, "apiVersion" | "plural" | "namespaced">,
  namespace: string,
): string {
  const folder = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespaced ? `${folder}/namespaces/${namespace}/${plural}` : `${folder}/${plural}`;
}
