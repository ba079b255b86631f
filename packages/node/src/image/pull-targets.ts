import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { isReachable, ownNetworks } from "./reachable.ts";
import type { RegistrySettings } from "./registries.ts";

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** Finds the address at which a pull may reach a host, or undefined. */
export type FindTarget = (target: Target) => Promise<Target | undefined>;

export interface TargetOptions {
  readonly resolve?: ResolveName;
  /** A name that cannot be resolved here may be left to a proxy that resolves it. Default "refuse". */
  readonly unresolved?: "refuse" | "pass";
}

const resolveTimeoutMs = 5000;

/**
 * Where pulls may connect. A registry, or mirror, that the operator has named is reached by its name, wherever that is. Any
 * other host is resolved here, and reached only at an address that a Pod could reach as well: what is checked is what is
 * connected to, so a name cannot stand for one address now and another a moment later.
 */
export function pullTargets(
  settings: readonly RegistrySettings[],
  { resolve = resolveName, unresolved = "refuse" }: TargetOptions = {},
): FindTarget {
  const named = new Set(operatorHosts(settings));
  return async ({ host, port }) => {
    if (named.has(`${host}:${port}`)) return { host, port };
    const found = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host];
    if (found.length === 0 && unresolved === "pass") return { host, port };
    const own = ownNetworks();
    const address = found.find((one) => isReachable(one, own));
    // A name with one forbidden address is not used at all: somebody tries to be clever.
    return address !== undefined && found.every((one) => isReachable(one, own)) ? { host: address, port } : undefined;
  };
}

/** Every host with its port that the operator has named, as a registry or as a mirror. */
export function operatorHosts(settings: readonly RegistrySettings[]): string[] {
  return settings
    .flatMap(({ name, mirrors = [], insecure = false }) => [name, ...mirrors].map((one) => ({ one, insecure })))
    .flatMap(({ one, insecure }) => {
      const [place = ""] = one.split("/");
      const host = dockerHosts[place] ?? place;
      if (/:\d+$/.test(host)) return [withoutBrackets(host)];
      return (insecure ? [443, 80] : [443]).map((port) => `${withoutBrackets(host)}:${port}`);
    });
}

/** Docker's registry is not at the host that its images are named by. */
const dockerHosts: Readonly<Record<string, string>> = { "docker.io": "registry-1.docker.io" };

const withoutBrackets = (host: string): string => host.replace(/^\[([^\]]*)\]/, "$1");

export type ResolveName = (name: string) => Promise<readonly string[]>;

/** By DNS alone, as a Pod resolves: the machine's own file of hosts is not for Pods. */
async function resolveName(name: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: resolveTimeoutMs, tries: 1 });
  const found = await resolver.resolve4(name).catch(() => []);
  return found.length > 0 ? found : await resolver.resolve6(name);
}
