import { hostname } from "node:os";
import { apiServerAddress } from "@agent-sandbox/api";

const isWildcard = (host: string): boolean => host === "0.0.0.0" || host === "::";
const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** The address for clients on this machine of a server that listens on a host. */
export function urlOf(host: string, port: number): string {
  return `https://${isWildcard(host) ? "127.0.0.1" : bracketed(host)}:${port}`;
}

/** The names and addresses in the certificate of a server that listens on a host. */
export function serverNames(host: string): string[] {
  const inCluster = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  const own = [hostname().toLowerCase()].filter((name) => /^[a-z0-9.-]+$/.test(name));
  return [
    ...new Set([
      "localhost",
      "127.0.0.1",
      "::1",
      apiServerAddress,
      ...own,
      ...inCluster,
      ...(isWildcard(host) ? [] : [host]),
    ]),
  ];
}
