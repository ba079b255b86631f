import type { Pod } from "@agent-sandbox/api";
import { hostnameOf } from "../oci/environment.ts";

/** The content of the Pod's files in /etc, by name. */
export function etcFiles(
  pod: Pod,
  { address, nameServer }: { readonly address: string; readonly nameServer: string },
): Record<"hosts" | "hostname" | "resolv.conf", string> {
  const hostname = hostnameOf(pod);
  return {
    hosts: hostsFile(pod, address, hostname),
    hostname: `${hostname}\n`,
    "resolv.conf": resolverFile(pod, nameServer),
  };
}

function hostsFile(pod: Pod, address: string, hostname: string): string {
  const subdomain = pod.spec?.subdomain;
  const qualified = subdomain ? [`${hostname}.${subdomain}.${pod.metadata?.namespace}.svc.cluster.local`] : [];
  const lines = [
    ["127.0.0.1", "localhost"],
    ["::1", "localhost", "ip6-localhost", "ip6-loopback"],
    [address, ...qualified, hostname],
    ...(pod.spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => [ip, ...hostnames]),
  ];
  return `${lines.map((words) => words.join("\t")).join("\n")}\n`;
}

/**
 * The node's name server also answers from the machine's resolver, so `Default` differs from `ClusterFirst` only in the
 * search list.
 */
function resolverFile({ spec, metadata }: Pod, nameServer: string): string {
  const { nameservers = [], searches = [], options = [] } = spec?.dnsConfig ?? {};
  const policy = spec?.dnsPolicy ?? "ClusterFirst";
  const inCluster = policy !== "None" && policy !== "Default";
  const servers = [...(policy === "None" ? [] : [nameServer]), ...nameservers];
  const tried = [...(inCluster ? clusterSearches(metadata?.namespace ?? "") : []), ...searches];
  const set = [
    ...(inCluster && !options.some(({ name }) => name === "ndots") ? [{ name: "ndots", value: "5" }] : []),
    ...options,
  ];
  const lines = [
    ...servers.map((server) => `nameserver ${server}`),
    ...(tried.length > 0 ? [`search ${tried.join(" ")}`] : []),
    ...set.map(({ name, value }) => `options ${name}${value ? `:${value}` : ""}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const clusterSearches = (namespace: string): string[] => [
  `${namespace}.svc.cluster.local`,
  "svc.cluster.local",
  "cluster.local",
];
