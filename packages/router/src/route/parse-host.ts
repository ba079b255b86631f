import { defaultPort, isDnsLabel, parsePort } from "./route.ts";

export interface NamedByHost {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** 253 for the name, 6 for ":65535", 1 for a trailing dot. */
const maxHostLength = 260;

/**
 * Parses `<sandbox>.<namespace>.<domain>` and `<port>-<sandbox>.<namespace>.<domain>`. Leading digits and a hyphen are
 * always a port, so that the meaning of a name does not depend on which sandboxes exist. A sandbox whose own name begins
 * like that is reached with a port in front. Undefined if the host is not two labels below one of the domains.
 */
export function parseHost(host: string, domains: readonly string[]): NamedByHost | { error: string } | undefined {
  if (host.length > maxHostLength) return undefined;
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  const domain = domains.find((candidate) => name.endsWith(`.${candidate}`));
  if (domain === undefined) return undefined;
  const labels = name.slice(0, -domain.length - 1).split(".");
  const [first = "", namespace = ""] = labels;
  // The router itself may have a host name directly below the domain.
  if (labels.length !== 2) return undefined;
  if (!isDnsLabel(namespace)) return { error: wrongHost(domain) };
  const [, portText, rest] = /^(\d+)-(.*)$/.exec(first) ?? [];
  const port = portText === undefined ? defaultPort : parsePort(portText);
  const sandbox = rest ?? first;
  if (port === undefined || !isDnsLabel(sandbox)) return { error: wrongHost(domain) };
  return { namespace, name: sandbox, port };
}

const wrongHost = (domain: string): string =>
  `Invalid host name: want <sandbox>.<namespace>.${domain} or <port>-<sandbox>.<namespace>.${domain}.`;
