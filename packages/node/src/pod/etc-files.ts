import type { Pod } from "@agent-sandbox/api";
import { hostnameOf } from "../oci/environment.ts";

/** The files under /etc that are a Pod's own, by name. */
export function etcFiles(pod: Pod, address: string): Record<"hosts" | "hostname" | "resolv.conf", string> {
  const hostname = hostnameOf(pod);
  return { hosts: hostsFile(pod, address, hostname), hostname: `${hostname}\n`, "resolv.conf": resolverFile(pod) };
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

/** The node has no name service of its own: a Pod has the one its `dnsConfig` names, or none. */
function resolverFile(pod: Pod): string {
  const { nameservers = [], searches = [], options = [] } = pod.spec?.dnsConfig ?? {};
  const lines = [
    ...nameservers.map((server) => `nameserver ${server}`),
    ...(searches.length > 0 ? [`search ${searches.join(" ")}`] : []),
    ...options.map(({ name, value }) => `options ${name}${value ? `:${value}` : ""}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}
