import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { FirewallPlace } from "./firewall.ts";
import type { PodPolicy } from "./policy.ts";

export interface ConnectionBounds {
  /** The number of open connections of one Pod, and of all Pods of one namespace together. */
  readonly pod: number;
  readonly namespace: number;
}

/**
 * The kernel tracks all connections of the machine in one table, and when it is full nobody can connect. A Pod gets at most
 * 1/64 of it and a namespace 1/8. The kernel counts by walking a list, so the limits also have a maximum.
 */
export function connectionBounds(tableSize: number): ConnectionBounds {
  return {
    pod: Math.min(4096, Math.max(256, Math.floor(tableSize / 64))),
    namespace: Math.min(16_384, Math.max(1024, Math.floor(tableSize / 8))),
  };
}

/** The size of the kernel's connection table. */
export async function tableSize(): Promise<number> {
  return Number(await readFile("/proc/sys/net/netfilter/nf_conntrack_max", "utf8").catch(() => "0"));
}

export const limitsTable = (table: string): string => `${table}_limits`;

/**
 * The rules that limit connections. They are in a separate table, because `firewall` replaces its table on every change, which
 * would reset the counts. Connections above the limits are dropped before they enter the kernel's table.
 */
export function connectionLimits(
  { table, bridge }: Pick<FirewallPlace, "table" | "bridge">,
  bounds: ConnectionBounds,
): string {
  const name = limitsTable(table);
  return `table inet ${name}
delete table inet ${name}
table inet ${name} {
  map namespace_of { type ipv4_addr : mark; }
  set by_pod { type ipv4_addr; size 65535; flags dynamic; }
  set by_namespace { type mark; size 65535; flags dynamic; }
  chain prerouting {
    type filter hook prerouting priority -160; policy accept;
    iifname != "${bridge}" accept
    ct state != new accept
    add @by_pod { ip saddr ct count over ${bounds.pod} } drop
    meta mark set ip saddr map @namespace_of
    add @by_namespace { meta mark ct count over ${bounds.namespace} } drop
    meta mark set 0
  }
}
`;
}

/** Maps each Pod's address to a mark of its namespace, in the same transaction that changes the firewall. */
export function namespaceMarks({ table }: FirewallPlace, policies: readonly PodPolicy[]): string {
  const name = limitsTable(table);
  const elements = policies.map(({ address, namespace }) => `${address} : ${markOf(namespace)}`);
  const added = elements.length === 0 ? "" : `add element inet ${name} namespace_of { ${elements.join(", ")} }\n`;
  // The table is added first, so that the transaction does not fail if somebody has removed it.
  const there = `add table inet ${name}\nadd map inet ${name} namespace_of { type ipv4_addr : mark; }\n`;
  return `${there}flush map inet ${name} namespace_of\n${added}`;
}

/** A number derived from the namespace's name. Never zero, which means "no mark". */
function markOf(namespace: string): string {
  const digest = createHash("sha256").update(namespace).digest("hex").slice(0, 7);
  return `0x1${digest}`;
}
