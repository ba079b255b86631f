import {
  findCondition,
  type SandboxClaim,
  type SandboxWarmPool,
  sandboxClaims,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName } from "../client/discovery.ts";
import { formatAge } from "../client/format-amounts.ts";
import { formatTable } from "../client/table.ts";
import { CommandError } from "../command-error.ts";

export interface PoolOptions extends GlobalOptions {
  readonly allNamespaces?: boolean;
}

/** Prints how many members of each pool are ready, and why not all. */
export async function poolStatus(name: string | undefined, options: PoolOptions): Promise<void> {
  await using connection = await connect(options);
  const pools = await readPools(connection, name, options);
  if (pools.length === 0) {
    console.error("No resources found");
    return;
  }
  const where = options.allNamespaces === true ? {} : { namespace: connection.namespace };
  const claims = await connection.client.list(sandboxClaims, where);
  console.log(poolTable(pools, claims.items, { now: Date.now(), namespaces: options.allNamespaces === true }));
}

async function readPools(
  { client, namespace }: Connection,
  name: string | undefined,
  { allNamespaces = false }: PoolOptions,
): Promise<readonly SandboxWarmPool[]> {
  if (name === undefined) return (await client.list(sandboxWarmPools, allNamespaces ? {} : { namespace })).items;
  try {
    return [await client.get(sandboxWarmPools, { name, namespace })];
  } catch (error) {
    throw missing(error, name, namespace);
  }
}

function missing(error: unknown, name: string, namespace: string): unknown {
  if (!isReason(error, "NotFound")) return error;
  const hint = "list the pools with: agent-sandbox pool status";
  return new CommandError(`pool "${name}" not found in namespace "${namespace}"; ${hint}`, { cause: error });
}

const columns = ["Name", "Template", "Ready", "Wanted", "Outdated", "Claims", "Age", "Why"];

export function poolTable(
  pools: readonly SandboxWarmPool[],
  claims: readonly SandboxClaim[],
  { now, namespaces }: { readonly now: number; readonly namespaces: boolean },
): string {
  const rows = pools.map(({ metadata, spec, status }) => {
    const ready = findCondition(status?.conditions, "Ready");
    const taken = claims.filter(
      (claim) => claim.metadata.namespace === metadata.namespace && claim.spec.warmPoolRef?.name === metadata.name,
    );
    return {
      cells: [
        metadata.name,
        spec.sandboxTemplateRef.name,
        status?.readyReplicas ?? 0,
        spec.replicas ?? 1,
        status?.outdatedReplicas ?? 0,
        taken.length,
        metadata.creationTimestamp && formatAge(now - Date.parse(metadata.creationTimestamp)),
        ready?.status === "True" ? undefined : ready?.message || ready?.reason || "not observed yet",
      ],
      object: { metadata: { namespace: metadata.namespace ?? "" } },
    };
  });
  return formatTable({ columnDefinitions: columns.map((name) => ({ name })), rows }, { namespaces });
}

/** Far more than one machine runs. A larger number is probably a typing error. */
const mostMembers = 10_000;

/** Changes the number of members that a pool keeps ready. */
export async function scalePool(name: string, count: string, options: GlobalOptions): Promise<void> {
  const replicas = /^\d{1,6}$/.test(count) ? Number(count) : Number.NaN;
  if (!(replicas <= mostMembers)) {
    throw new CommandError(`Cannot scale to "${count}": write a whole number from 0 to ${mostMembers}`);
  }
  await using connection = await connect(options);
  const { client, namespace } = connection;
  try {
    await client.patch(sandboxWarmPools, { name, namespace }, { type: "merge", body: { spec: { replicas } } });
  } catch (error) {
    throw missing(error, name, namespace);
  }
  console.log(`${displayName(sandboxWarmPools, name)} scaled`);
}
