import {
  migrationShadowAnnotation,
  migrationSourceTemplateAnnotation,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxTemplates,
  sandboxWarmPools,
  shadowPoolPrefix,
} from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import type { Connection } from "./connect.ts";

type Place = Pick<Connection, "client">;

/**
 * The pool from which claims get sandboxes of a template. A claim names a pool, so a template without one gets an empty pool, as in the
 * conversion of v1alpha1 claims. It is deleted with the template.
 */
export async function poolOfTemplate({ client }: Place, namespace: string, template: SandboxTemplate): Promise<string> {
  const { name = "" } = template.metadata;
  const { items } = await client.list(sandboxWarmPools, { namespace });
  const pool = choosePool(items, name);
  if (pool !== undefined) return pool;
  try {
    await client.create(sandboxWarmPools, emptyPool(template, namespace));
  } catch (error) {
    // Another claim created it meanwhile.
    if (!isReason(error, "AlreadyExists")) throw error;
  }
  return shadowPoolPrefix + name;
}

export async function findTemplate(
  { client }: Place,
  namespace: string,
  name: string,
): Promise<SandboxTemplate | undefined> {
  try {
    return await client.get(sandboxTemplates, { name, namespace });
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
    return undefined;
  }
}

/** The pool with the name of the template, otherwise the first one with members, otherwise an empty one. */
export function choosePool(pools: readonly SandboxWarmPool[], template: string): string | undefined {
  const rank = ({ metadata, spec }: SandboxWarmPool): number =>
    metadata.name === template ? 0 : (spec.replicas ?? 1) > 0 ? 1 : 2;
  const [first] = pools
    .filter(({ metadata, spec }) => spec.sandboxTemplateRef.name === template && !metadata.deletionTimestamp)
    .toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name ?? "").localeCompare(b.metadata.name ?? ""));
  return first?.metadata.name;
}

function emptyPool({ metadata }: SandboxTemplate, namespace: string): SandboxWarmPool {
  const { name = "", uid = "" } = metadata;
  const owner = { apiVersion: sandboxTemplates.apiVersion, kind: sandboxTemplates.kind, name, uid };
  return {
    apiVersion: sandboxWarmPools.apiVersion as SandboxWarmPool["apiVersion"],
    kind: "SandboxWarmPool",
    metadata: {
      name: shadowPoolPrefix + name,
      namespace,
      annotations: { [migrationShadowAnnotation]: "true", [migrationSourceTemplateAnnotation]: name },
      ownerReferences: [owner],
    },
    spec: { replicas: 0, sandboxTemplateRef: { name } },
  };
}
