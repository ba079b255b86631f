import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { hasCode, NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { runCommand, tryCommand } from "../system/run-command.ts";
import { AddressPool } from "./address-pool.ts";
import { chooseSubnet } from "./choose-subnet.ts";
import { formatSubnet, parseSubnet, type Subnet } from "./subnet.ts";

export interface PodNetwork {
  readonly subnet: string;
  readonly pool: AddressPool;
  /** Makes the network namespace and joins it to the bridge. What a crash left half done is made anew. */
  attach(netns: string, address: string): Promise<void>;
  isAttached(netns: string, address: string): boolean;
  detach(netns: string, address: string | undefined): Promise<void>;
  /** Names of everything on the machine that carries this node's mark. */
  found(): Promise<{ readonly namespaces: readonly string[]; readonly interfaces: readonly string[] }>;
  interfaceOf(address: string): string;
  removeInterface(name: string): Promise<void>;
  /** Removes the bridge and the firewall table. */
  remove(): Promise<void>;
}

export interface NetworkOptions {
  readonly layout: Layout;
  readonly subnet?: string | undefined;
}

/**
 * One bridge, one network namespace and one pair of interfaces per Pod. The machine reaches a Pod and gets its answers;
 * a Pod reaches neither the machine nor another Pod (their ports are isolated), and nothing is forwarded in or out: that
 * is what our own firewall table says, whatever other tables allow. Rules of other programs are neither read nor changed.
 */
export async function openPodNetwork({ layout, subnet: wanted }: NetworkOptions): Promise<PodNetwork> {
  const subnet = await settleSubnet(layout, wanted);
  const pool = new AddressPool(subnet);
  await makeBridge(layout, pool.gateway, subnet.prefix);
  await makeFirewall(layout);

  const interfaceOf = (address: string): string => `${layout.vethPrefix}${pool.suffix(address)}`;
  const detach = async (netns: string, address: string | undefined): Promise<void> => {
    const lines = address === undefined ? [] : [`link del ${interfaceOf(address)}`];
    await tryCommand("ip", ["-force", "-batch", "-"], { input: batch([...lines, `netns del ${netns}`]) });
    if (existsSync(`/run/netns/${netns}`))
      throw new NodeError("SandboxError", `Cannot remove network namespace "${netns}"`);
  };

  return {
    subnet: formatSubnet(subnet),
    pool,
    interfaceOf,
    detach,
    isAttached: (netns, address) =>
      existsSync(`/run/netns/${netns}`) && existsSync(`/sys/class/net/${interfaceOf(address)}`),
    attach: async (netns, address) => {
      if (existsSync(`/run/netns/${netns}`) || existsSync(`/sys/class/net/${interfaceOf(address)}`))
        await detach(netns, address);
      await ip(
        [],
        [
          `netns add ${netns}`,
          `link add ${interfaceOf(address)} type veth peer name eth0 netns ${netns}`,
          `link set ${interfaceOf(address)} master ${layout.bridge} up`,
          `link set ${interfaceOf(address)} type bridge_slave isolated on`,
        ],
      );
      await ip(
        ["-n", netns],
        [
          "link set lo up",
          `addr add ${address}/${subnet.prefix} dev eth0`,
          "link set eth0 up",
          `route add default via ${pool.gateway}`,
        ],
      );
    },
    found: async () => ({
      namespaces: (await namesIn("/run/netns")).filter((name) => name.startsWith(layout.netnsPrefix)),
      interfaces: (await namesIn("/sys/class/net")).filter((name) => name.startsWith(layout.vethPrefix)),
    }),
    removeInterface: (name) => ip([], [`link del ${name}`]),
    remove: async () => {
      await tryCommand("ip", ["link", "del", layout.bridge]);
      await tryCommand("nft", ["delete", "table", "inet", layout.firewallTable]);
    },
  };
}

/** Once chosen, a network stays: running Pods have their addresses in it. */
async function settleSubnet(layout: Layout, wanted: string | undefined): Promise<Subnet> {
  const saved = (await readJson(layout.networkFile)) as { subnet?: string } | undefined;
  const kept = saved?.subnet === undefined ? undefined : parseSubnet(saved.subnet);
  if (kept !== undefined && (wanted === undefined || wanted === saved?.subnet)) return kept;
  const hasPods = (await namesIn(layout.podsDir)).length > 0;
  if (kept !== undefined && hasPods) {
    throw new NodeError("NodeSetup", `Cannot change the subnet to "${wanted}": Pods still use "${saved?.subnet}"`);
  }
  const chosen = chooseSubnet(wanted, layout.id, await networksInUse(layout.bridge));
  await writeJson(layout.networkFile, { subnet: formatSubnet(chosen) }, { durable: true });
  return chosen;
}

async function networksInUse(ownBridge: string): Promise<Subnet[]> {
  const routes = JSON.parse(await runCommand("ip", ["-4", "-json", "route", "show", "table", "all"])) as {
    dst?: string;
    dev?: string;
  }[];
  return routes
    .filter((route) => route.dev !== ownBridge && route.dst !== undefined)
    .map((route) => parseSubnet(route.dst ?? ""))
    .filter((subnet) => subnet !== undefined)
    .filter((subnet) => subnet.prefix > 0);
}

async function makeBridge(layout: Layout, gateway: string, prefix: number): Promise<void> {
  const { bridge, id } = layout;
  const exists = existsSync(`/sys/class/net/${bridge}`);
  // A hardware address of its own: else it changes with every port that comes and goes, and Pods lose their neighbour.
  const hardware = `02:a5:${id.match(/../g)?.join(":")}`;
  await ip(
    [],
    [
      ...(exists ? [] : [`link add ${bridge} address ${hardware} type bridge forward_delay 0`]),
      `addr replace ${gateway}/${prefix} dev ${bridge}`,
      `link set ${bridge} up`,
    ],
  );
  // Pods have IPv4 only; without this the machine would answer them on its link-local IPv6 address as well.
  await writeFile(`/proc/sys/net/ipv6/conf/${bridge}/disable_ipv6`, "1").catch((error: unknown) => {
    if (!hasCode(error, "ENOENT")) throw error;
  });
}

async function makeFirewall({ bridge, firewallTable }: Layout): Promise<void> {
  const input = `
    table inet ${firewallTable}
    delete table inet ${firewallTable}
    table inet ${firewallTable} {
      chain input {
        type filter hook input priority -5; policy accept;
        iifname "${bridge}" ct state established,related accept
        iifname "${bridge}" drop
      }
      chain forward {
        type filter hook forward priority -5; policy accept;
        iifname "${bridge}" drop
        oifname "${bridge}" drop
      }
    }`;
  await runCommand("nft", ["-f", "-"], { input });
}

async function ip(options: readonly string[], lines: readonly string[]): Promise<void> {
  await runCommand("ip", [...options, "-batch", "-"], { input: batch(lines) });
}

function batch(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
