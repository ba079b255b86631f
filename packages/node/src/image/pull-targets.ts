import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { isReachable, ownNetworks } from "./reachable.ts";
import type { RegistrySettings } from "./registries.ts";

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** Returns the address at which a pull may connect to a host, or undefined if it may not. */
export type FindTarget = (target: Target) => Promise<Target | undefined>;

export interface TargetOptions {
  readonly resolve?: ResolveName;
  /** "pass" leaves names that cannot be resolved here to an upstream proxy. Default "refuse". */
  readonly unresolved?: "refuse" | "pass";
}

const resolveTimeoutMs = 5000;

/**
 * Decides where pulls may connect. Registries and mirrors that the operator configured are allowed at any address. Any other
 * host is resolved here and allowed only at addresses that a Pod could reach. The pull connects to the address that was
 * checked, so a DNS server cannot return another one later.
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
    // One forbidden address forbids the name: it is probably an attack.
    return address !== undefined && found.every((one) => isReachable(one, own)) ? { host: address, port } : undefined;
  };
}

/** The host and port of every registry and mirror that the operator configured. */
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

/** The registry of docker.io runs on another host. */
const dockerHosts: Readonly<Record<string, string>> = { "docker.io": "registry-1.docker.io" };

const withoutBrackets = (host: string): string => host.replace(/^\[([^\]]*)\]/, "$1");

export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Uses DNS only, as a Pod does, and not the machine's /etc/hosts. */
async function resolveName(name: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: resolveTimeoutMs, tries: 1 });
  const found = await resolver.resolve4(name).catch(() => []);
  return found.length > 0 ? found : await resolver.resolve6(name);
}
