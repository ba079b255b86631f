import { type SandboxTemplate, type SandboxWarmPool, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { formatAge } from "../client/format-amounts.ts";
import { formatTable } from "../client/table.ts";

export interface TemplateOptions extends GlobalOptions {
  readonly allNamespaces?: boolean;
}

/** Prints what the sandboxes of each template are made of, and which pools use it. */
export async function listTemplates(options: TemplateOptions): Promise<void> {
  const { allNamespaces = false } = options;
  await using connection = await connect(options);
  const where = allNamespaces ? {} : { namespace: connection.namespace };
  const [templates, pools] = await Promise.all([
    connection.client.list(sandboxTemplates, where),
    connection.client.list(sandboxWarmPools, where),
  ]);
  if (templates.items.length === 0) console.error("No resources found");
  else console.log(templateTable(templates.items, pools.items, { now: Date.now(), namespaces: allNamespaces }));
}

const columns = ["Name", "Image", "Runtime", "Depth", "Pools", "Age"];

export function templateTable(
  templates: readonly SandboxTemplate[],
  pools: readonly SandboxWarmPool[],
  { now, namespaces }: { readonly now: number; readonly namespaces: boolean },
): string {
  const rows = templates.map(({ metadata, spec }) => {
    const pod = spec.podTemplate?.spec;
    const users = pools.filter(
      (pool) => pool.metadata.namespace === metadata.namespace && pool.spec.sandboxTemplateRef.name === metadata.name,
    );
    return {
      cells: [
        metadata.name,
        (pod?.containers ?? []).map(({ image }) => image).join(","),
        pod?.runtimeClassName ?? "<default>",
        spec.suspendPolicy?.depth ?? "<default>",
        users.map((pool) => pool.metadata.name).join(","),
        metadata.creationTimestamp && formatAge(now - Date.parse(metadata.creationTimestamp)),
      ],
      object: { metadata: { namespace: metadata.namespace ?? "" } },
    };
  });
  return formatTable({ columnDefinitions: columns.map((name) => ({ name })), rows }, { namespaces });
}
