import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { FirewallPlace } from "./firewall.ts";
import type { PodPolicy } from "./policy.ts";

export interface ConnectionBounds {
  /** Connections that one Pod may have open at a time, and all Pods of one namespace together. */
  readonly pod: number;
  readonly namespace: number;
}

/**
 * The kernel follows every connection in one table for the whole machine, and when that is full nobody can connect. A Pod
 * gets at most 1/64 of it and a namespace 1/8. The kernel counts by walking a list, so the numbers also have an upper end.
 */
export function connectionBounds(tableSize: number): ConnectionBounds {
  return {
    pod: Math.min(4096, Math.max(256, Math.floor(tableSize / 64))),
    namespace: Math.min(16_384, Math.max(1024, Math.floor(tableSize / 8))),
  };
}

/** How many connections the kernel can follow. */
export async function tableSize(): Promise<number> {
  return Number(await readFile("/proc/sys/net/netfilter/nf_conntrack_max", "utf8").catch(() => "0"));
}

export const limitsTable = (table: string): string => `${table}_limits`;

/**
 * A table of its own, because it counts: `firewall` replaces its table on every change. Connections above the bounds are
 * dropped before the kernel keeps them.
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

/** Which Pod is in which namespace, as a part of the transaction that changes the firewall. */
export function namespaceMarks({ table }: FirewallPlace, policies: readonly PodPolicy[]): string {
  const name = limitsTable(table);
  const elements = policies.map(({ address, namespace }) => `${address} : ${markOf(namespace)}`);
  const added = elements.length === 0 ? "" : `add element inet ${name} namespace_of { ${elements.join(", ")} }\n`;
  // Somebody may have removed the table: it must not keep the firewall from being renewed.
  const there = `add table inet ${name}\nadd map inet ${name} namespace_of { type ipv4_addr : mark; }\n`;
  return `${there}flush map inet ${name} namespace_of\n${added}`;
}

/** A number that stays the same while the namespace has this name; never zero, which marks nothing. */
function markOf(namespace: string): string {
  const digest = createHash("sha256").update(namespace).digest("hex").slice(0, 7);
  return `0x1${digest}`;
}
