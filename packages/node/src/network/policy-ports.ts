import type { NetworkPolicyIngressRule } from "@agent-sandbox/api";
import type { PortRanges } from "./policy.ts";
import { type Range, union } from "./ranges.ts";

export type PolicyPort = NonNullable<NetworkPolicyIngressRule["ports"]>[number];

/** A port of a rule: a range, a name that each receiving Pod resolves, or, without either, all ports. */
interface CompiledPort {
  readonly protocol: PortRanges["protocol"];
  readonly range?: Range;
  readonly name?: string;
}

export const protocols: ReadonlyMap<string, PortRanges["protocol"]> = new Map([
  ["TCP", "tcp"],
  ["UDP", "udp"],
  ["SCTP", "sctp"],
]);

export const isPort = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value < 65_536;

/** Returns `undefined` for all ports of all protocols. Invalid ports are left out and allow nothing. */
export function compilePorts(
  ports: readonly PolicyPort[] | undefined,
  path: string,
  report: (text: string) => void,
): readonly CompiledPort[] | undefined {
  if (ports === undefined || ports.length === 0) return undefined;
  return ports.flatMap((port, at) => {
    const compiled = compilePort(port);
    if (compiled === undefined) report(`${path}.ports[${at}]: not understood, it allows nothing`);
    return compiled === undefined ? [] : [compiled];
  });
}

function compilePort({ protocol: name = "TCP", port, endPort }: PolicyPort): CompiledPort | undefined {
  const protocol = protocols.get(name);
  if (protocol === undefined) return undefined;
  if (port === undefined) return endPort === undefined ? { protocol } : undefined;
  if (typeof port === "string") return endPort === undefined ? { protocol, name: port } : undefined;
  const to = endPort ?? port;
  return isPort(port) && isPort(to) && to >= port ? { protocol, range: { from: port, to } } : undefined;
}

/** The ports of a rule for a receiving Pod, one entry for each protocol. Empty if it has none of the named ports. */
export function portsFor(
  ports: readonly CompiledPort[] | undefined,
  named: ReadonlyMap<string, number>,
): PortRanges[] | undefined {
  if (ports === undefined) return undefined;
  return [...Map.groupBy(ports, ({ protocol }) => protocol)].flatMap(([protocol, all]): PortRanges[] => {
    if (all.some(({ name, range }) => name === undefined && range === undefined))
      return [{ protocol, ports: undefined }];
    const ranges = all.flatMap(({ name, range }) => {
      const number = name === undefined ? undefined : named.get(name);
      return range ?? (number === undefined ? [] : { from: number, to: number });
    });
    return ranges.length === 0 ? [] : [{ protocol, ports: union(ranges) }];
  });
}
