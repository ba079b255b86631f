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
import { hardwareOf, PodLinks } from "./pod-links.ts";
import { runIp } from "./run-ip.ts";
import { formatSubnet, parseSubnet, type Subnet } from "./subnet.ts";

export interface PodNetwork {
  readonly subnet: string;
  readonly pool: AddressPool;
  /** Where the rules for traffic go: see `firewall.ts`. */
  readonly place: FirewallPlace;
  /** The address of the Pod in each network namespace that was attached. */
  readonly attached: ReadonlyMap<string, string>;
  /** Takes a Pod that an earlier process attached for attached. */
  adopt(netns: string, pod: { readonly address: string; readonly namespace: string }): void;
  /** Is told when a Pod was attached. */
  onAttached: () => void;
  /** The rules as `nft` reads them. */
  rulesText(content: FirewallContent): string;
  /** Puts rules in the place of those there are, all at once; fails when `nft` refuses them, and changes nothing then. */
  enforce(content: FirewallContent): Promise<void>;
  /** Whether `nft` would take these rules. */
  accepts(content: FirewallContent): Promise<boolean>;
  /** Why the number of Pods' connections is not limited, if the kernel cannot. */
  readonly unlimited: string | undefined;
  /**
   * Makes the network namespace and joins it to the bridge. What a crash left half done is made anew; who asks while it is
   * being made waits for the same. `make` makes the namespace where it is not to be the machine's own.
   */
  attach(netns: string, address: string, make?: () => Promise<void>): Promise<void>;
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
 * One bridge, one network namespace and one pair of interfaces per Pod. Pods have no neighbours: what they send goes to
 * the machine, which passes it on, to the outside or to another Pod, as far as our own firewall tables allow; new Pods are
 * cut off until those know them. Rules of other programs are neither read nor changed.
 */
export async function openPodNetwork({ layout, subnet: wanted }: NetworkOptions): Promise<PodNetwork> {
  const subnet = await settleSubnet(layout, wanted);
  const pool = new AddressPool(subnet);
  const homes = await openHomes(layout, pool);
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
    bridge: layout.bridge,
    gateway: pool.gateway,
    interfaceOf,
    // Before anybody can reach it by its address.
    onAttaching: () => homes.save(),
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
    attach: (netns, address, make) => links.attach(netns, address, make),
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

/** The addresses that belong to somebody, on the disk. */
async function openHomes({ dataDir }: Layout, pool: AddressPool): Promise<{ save(): Promise<void> }> {
  const file = join(dataDir, "addresses.json");
  pool.remember(((await readJson(file)) ?? {}) as Record<string, unknown>);
  let saved = JSON.stringify(pool.homes);
  let saving = Promise.resolve();
  const write = async (): Promise<void> => {
    const { homes } = pool;
    if (JSON.stringify(homes) === saved) return;
    await writeJson(file, homes);
    saved = JSON.stringify(homes);
  };
  return {
    save: () => {
      saving = saving.then(write, write);
      return saving;
    },
  };
}

/** Rules that are there are for Pods that run: they hold until new ones are made. */
async function guard({ table }: FirewallPlace, text: (content: FirewallContent) => string): Promise<void> {
  const tables = await runCommand("nft", ["list", "tables"]);
  const isThere = tables.split("\n").includes(`table bridge ${table}`);
  if (!isThere) await enforce(text({ policies: [], doors: [], routed: [] }));
}

/** Counting starts at zero with each start of the node. Returns why connections cannot be counted, if they cannot. */
async function limitConnections(place: FirewallPlace): Promise<string | undefined> {
  const input = connectionLimits(place, connectionBounds(await tableSize()));
  const { code, stderr } = await tryCommand("nft", ["-f", "-"], { input });
  return code === 0 ? undefined : stderr.trim() || `nft ended with exit code ${code}`;
}

async function accepts(rules: string): Promise<boolean> {
  return (await tryCommand("nft", ["--check", "-f", "-"], { input: rules })).code === 0;
}

async function enforce(rules: string): Promise<void> {
  await runCommand("nft", ["-f", "-"], { input: rules });
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
  // A hardware address of its own: else it changes with every port that comes and goes, and Pods lose their neighbour.
  const hardware = `02:a5:${id.match(/../g)?.join(":")}`;
  await runIp([
    ...(exists ? [] : [`link add ${bridge} address ${hardware} type bridge forward_delay 0`]),
    `addr replace ${gateway}/${prefix} dev ${bridge}`,
    `link set ${bridge} up`,
  ]);
  await startForwarding(layout);
  // A Pod reaches others by way of the machine alone: nobody tells it of a shorter way that it cannot go.
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/send_redirects`, "0");
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/accept_redirects`, "0");
  // Pods ask for the gateway only: whether the machine has some other address is not theirs to know.
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/arp_ignore`, "1");
  // Pods have IPv4 only; without this the machine would answer them on its link-local IPv6 address as well.
  await writeFile(`/proc/sys/net/ipv6/conf/${bridge}/disable_ipv6`, "1").catch((error: unknown) => {
    if (!hasCode(error, "ENOENT")) throw error;
  });
}

const forwarding = "/proc/sys/net/ipv4/ip_forward";

/** Lets the machine pass on what Pods send. It is noted who began with it, so that it can end with the last of us. */
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
