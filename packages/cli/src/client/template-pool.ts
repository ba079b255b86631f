import {
  migrationShadowAnnotation,
  migrationSourceTemplateAnnotation,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxTemplates,
  sandboxWarmPools,
  shadowPoolPrefix,
} from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";

/**
 * The pool from which claims get sandboxes of a template. A claim names a pool, so a template without one gets an empty pool, as in the
 * conversion of v1alpha1 claims. It is deleted with the template.
 */
export async function poolOfTemplate({ client }: Connection, namespace: string, template: string): Promise<string> {
  const found = await readTemplate({ client }, namespace, template);
  const { items } = await client.list(sandboxWarmPools, { namespace });
  const pool = choosePool(items, template);
  if (pool !== undefined) return pool;
  try {
    const { metadata } = await client.create(sandboxWarmPools, emptyPool(found, namespace));
    return metadata.name ?? "";
  } catch (error) {
    // Another claim created it meanwhile.
    if (!isReason(error, "AlreadyExists")) throw error;
    return shadowPoolPrefix + template;
  }
}

async function readTemplate(
  { client }: Pick<Connection, "client">,
  namespace: string,
  name: string,
): Promise<SandboxTemplate> {
  try {
    return await client.get(sandboxTemplates, { name, namespace });
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
    throw new CommandError(`there is no SandboxTemplate "${name}" in namespace "${namespace}": apply it first`);
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
