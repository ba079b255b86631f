import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { runCommand, tryCommand } from "../system/run-command.ts";
import { AddressPool } from "./address-pool.ts";
import { chooseSubnet } from "./choose-subnet.ts";
import { connectionBounds, connectionLimits, limitsTable, namespaceMarks, tableSize } from "./connection-limits.ts";
import { type FirewallContent, type FirewallPlace, firewall } from "./firewall.ts";
import { type AttachOptions, hardwareOf, PodLinks } from "./pod-links.ts";
import { runIp } from "./run-ip.ts";
import { setLink } from "./set-link.ts";
import { formatSubnet, parseSubnet, type Subnet } from "./subnet.ts";

export interface PodNetwork {
  readonly subnet: string;
  readonly pool: AddressPool;
  /** The names and addresses that the firewall rules use: see `firewall.ts`. */
  readonly place: FirewallPlace;
  /** The address of the Pod in each attached network namespace. */
  readonly attached: ReadonlyMap<string, string>;
  /** Records a Pod that an earlier process attached. */
  adopt(netns: string, pod: { readonly address: string; readonly namespace: string }): void;
  /** Called after a Pod was attached. */
  onAttached: () => void;
  /** The rules in the syntax of `nft`. */
  rulesText(content: FirewallContent): string;
  /** Replaces the rules in one transaction. Throws if `nft` refuses them; then nothing has changed. */
  enforce(content: FirewallContent): Promise<void>;
  /** Whether `nft` would accept these rules. */
  accepts(content: FirewallContent): Promise<boolean>;
  /** Why the number of connections is not limited, if the kernel does not support it. */
  readonly unlimited: string | undefined;
  /**
   * Creates the network namespace and connects it to the bridge, replacing what a crash left behind. Concurrent calls share one
   * operation.
   */
  attach(netns: string, address: string, options?: AttachOptions): Promise<void>;
  isAttached(netns: string, address: string): boolean;
  /** Cuts an attached Pod off, or connects it again. Nothing changes inside its network namespace, except that packets are lost. */
  setLink(address: string, state: "up" | "down"): Promise<void>;
  detach(netns: string, address: string | undefined): Promise<void>;
  /** The network namespaces and interfaces on the machine whose names have this node's prefix. */
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
 * Opens the Pod network: one bridge, and one network namespace and veth pair for each Pod. Pods cannot reach each other on
 * the bridge. The machine routes their packets to the outside or to other Pods, as far as our own firewall tables allow. A new
 * Pod is isolated until the rules contain it. Rules of other programs are neither read nor changed.
 */
export async function openPodNetwork({ layout, subnet: wanted }: NetworkOptions): Promise<PodNetwork> {
  const subnet = await settleSubnet(layout, wanted);
  const pool = new AddressPool(subnet);
  const reservations = await openReservations(layout, pool);
  await makeBridge(layout, pool.gateway, subnet.prefix);
  const interfaceOf = (address: string): string => `${layout.vethPrefix}${pool.suffix(address)}`;
  const place: FirewallPlace = {
    table: layout.firewallTable,
    bridge: layout.bridge,
    subnet: formatSubnet(subnet),
    gateway: pool.gateway,
    linkPrefix: layout.vethPrefix,
    linkOf: interfaceOf,
    hardwareOf,
  };
  const unlimited = await limitConnections(place);
  const rulesText = (content: FirewallContent): string =>
    `${firewall(place, content)}${unlimited === undefined ? namespaceMarks(place, content.policies) : ""}`;
  await guard(place, rulesText);
  const links = new PodLinks({
    layout,
    gateway: pool.gateway,
    interfaceOf,
    // Saved before the Pod can be reached at its address.
    onAttaching: () => reservations.save(),
    onAttached: () => network.onAttached(),
  });

  const network: PodNetwork = {
    subnet: formatSubnet(subnet),
    pool,
    place,
    attached: links.attached,
    adopt: (netns, { address, namespace }) => {
      pool.claim(address, namespace);
      links.adopt(netns, address);
    },
    onAttached: () => undefined,
    unlimited,
    rulesText,
    enforce: (content) => enforce(rulesText(content)),
    accepts: (content) => accepts(rulesText(content)),
    interfaceOf,
    isAttached: (netns, address) => links.isAttached(netns, address),
    attach: (netns, address, options) => links.attach(netns, address, options),
    setLink: (address, state) => setLink(interfaceOf(address), state),
    detach: (netns, address) => links.detach(netns, address),
    found: async () => ({
      namespaces: (await namesIn("/run/netns")).filter((name) => name.startsWith(layout.netnsPrefix)),
      interfaces: (await namesIn("/sys/class/net")).filter((name) => name.startsWith(layout.vethPrefix)),
    }),
    removeInterface: (name) => runIp([`link del ${name}`]),
    remove: async () => {
      await tryCommand("ip", ["link", "del", layout.bridge]);
      await tryCommand("nft", ["delete", "table", "inet", layout.firewallTable]);
      await tryCommand("nft", ["delete", "table", "bridge", layout.firewallTable]);
      await tryCommand("nft", ["delete", "table", "inet", limitsTable(layout.firewallTable)]);
      await stopForwarding(layout);
    },
  };
  return network;
}

/** Loads the reserved addresses from the disk, and saves them. */
async function openReservations({ dataDir }: Layout, pool: AddressPool): Promise<{ save(): Promise<void> }> {
  const file = join(dataDir, "addresses.json");
  pool.remember(((await readJson(file)) ?? {}) as Record<string, unknown>);
  let saved = JSON.stringify(pool.reservations);
  let saving = Promise.resolve();
  const write = async (): Promise<void> => {
    const { reservations } = pool;
    if (JSON.stringify(reservations) === saved) return;
    await writeJson(file, reservations);
    saved = JSON.stringify(reservations);
  };
  return {
    save: () => {
      saving = saving.then(write, write);
      return saving;
    },
  };
}

/** Existing rules are for running Pods and stay until the first pass. Otherwise rules that isolate all Pods are applied. */
async function guard({ table }: FirewallPlace, text: (content: FirewallContent) => string): Promise<void> {
  const tables = await runCommand("nft", ["list", "tables"]);
  const isThere = tables.split("\n").includes(`table bridge ${table}`);
  if (!isThere) await enforce(text({ policies: [], serviceAddresses: [], routed: [] }));
}

/** Applies the connection limits. The counts start at zero. Returns the error if the kernel does not support them. */
async function limitConnections(place: FirewallPlace): Promise<string | undefined> {
  const input = connectionLimits(place, connectionBounds(await tableSize()));
  const { code, stderr } = await tryCommand("nft", ["-f", "-"], { input });
  return code === 0 ? undefined : stderr.trim() || `nft exited with status ${code}`;
}

async function accepts(rules: string): Promise<boolean> {
  return (await tryCommand("nft", ["--check", "-f", "-"], { input: rules })).code === 0;
}

async function enforce(rules: string): Promise<void> {
  await runCommand("nft", ["-f", "-"], { input: rules });
}

/** Keeps the network that was chosen before, because running Pods have addresses in it. */
async function settleSubnet(layout: Layout, wanted: string | undefined): Promise<Subnet> {
  const saved = (await readJson(layout.networkFile)) as { subnet?: string } | undefined;
  const kept = saved?.subnet === undefined ? undefined : parseSubnet(saved.subnet);
  if (kept !== undefined && (wanted === undefined || wanted === saved?.subnet)) return kept;
  const hasPods = (await namesIn(layout.podsDir)).length > 0;
  if (kept !== undefined && hasPods) {
    throw new NodeError("NodeSetup", `Cannot change the subnet to "${wanted}": Pods still use "${saved?.subnet}"`);
  }
  const chosen = chooseSubnet(wanted, layout.id, await networksInUse(layout.bridge));
  await writeJson(layout.networkFile, { ...saved, subnet: formatSubnet(chosen) }, { durable: true });
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
  // A fixed hardware address. Otherwise it would change with the bridge's ports, and the Pods' ARP entries would be wrong.
  const hardware = `02:a5:${id.match(/../g)?.join(":")}`;
  await runIp([
    ...(exists ? [] : [`link add ${bridge} address ${hardware} type bridge forward_delay 0`]),
    `addr replace ${gateway}/${prefix} dev ${bridge}`,
    `link set ${bridge} up`,
  ]);
  await startForwarding(layout);
  // Pods reach each other only through the machine, so it must not send ICMP redirects for a direct path.
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/send_redirects`, "0");
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/accept_redirects`, "0");
  // Answer ARP only for the gateway's address, so that Pods cannot find other addresses of the machine.
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/arp_ignore`, "1");
  // Pods have IPv4 only. Without this the machine would also be reachable at its link-local IPv6 address.
  await writeFile(`/proc/sys/net/ipv6/conf/${bridge}/disable_ipv6`, "1").catch((error: unknown) => {
    if (!hasCode(error, "ENOENT")) throw error;
  });
}

const forwarding = "/proc/sys/net/ipv4/ip_forward";

/** Enables IP forwarding. Records that this node did so, so that it can be disabled when the last node is removed. */
async function startForwarding(layout: Layout): Promise<void> {
  if ((await readFile(forwarding, "utf8")).trim() === "1") return;
  const saved = (await readJson(layout.networkFile)) as object | undefined;
  await writeJson(layout.networkFile, { ...saved, startedForwarding: true }, { durable: true });
  await writeFile(forwarding, "1");
}

async function stopForwarding({ networkFile, bridge }: Layout): Promise<void> {
  const saved = (await readJson(networkFile)) as { startedForwarding?: boolean } | undefined;
  const others = (await namesIn("/sys/class/net")).some((name) => name.startsWith("asb") && name !== bridge);
  if (saved?.startedForwarding === true && !others) await writeFile(forwarding, "0");
}
