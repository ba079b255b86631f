import { defaultPort, isDnsLabel, parsePort } from "./route.ts";

export interface NamedByHost {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

// 253 for the name, 6 for ":65535", one for a final dot.
const longestHost = 260;

/**
 * Reads `<sandbox>.<namespace>.<domain>` and `<port>-<sandbox>.<namespace>.<domain>`. Digits and a hyphen in front are
 * always a port, so that a name means the same whatever sandboxes exist; a sandbox whose own name begins that way is
 * reached with its port in front. Undefined when the host is not two labels below one of the domains.
 */
export function parseHost(host: string, domains: readonly string[]): NamedByHost | { error: string } | undefined {
  if (host.length > longestHost) return undefined;
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  const domain = domains.find((candidate) => name.endsWith(`.${candidate}`));
  if (domain === undefined) return undefined;
  const labels = name.slice(0, -domain.length - 1).split(".");
  const [first = "", namespace = ""] = labels;
  // The router itself may have a name right below the domain.
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
