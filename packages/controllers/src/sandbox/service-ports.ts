import type { Container, PodSpec, ServicePort } from "@agent-sandbox/api";

interface Pair {
  readonly port: number;
  readonly protocol: string;
  name: string | undefined;
}

/**
 * The ports of a Sandbox's Service: one for each pair of port and protocol of its containers and sidecars. A pair has the first
 * name that a container gives it, unless another pair has that name; otherwise its name is generated from port and protocol.
 */
export function servicePorts(spec: PodSpec): ServicePort[] {
  const pairs = namedPairs(spec);
  const taken = new Set(pairs.flatMap(({ name }) => name ?? []));
  return pairs
    .toSorted((a, b) => a.port - b.port || compare(a.protocol, b.protocol))
    .map(({ port, protocol, name }) => ({
      name: name ?? freeName(`p-${port}-${protocol.toLowerCase()}`, taken),
      protocol,
      port,
      targetPort: port,
    }));
}

function namedPairs(spec: PodSpec): Pair[] {
  const pairs = new Map<string, Pair>();
  const taken = new Set<string>();
  for (const { containerPort, protocol = "TCP", name } of listening(spec).flatMap(({ ports = [] }) => ports)) {
    if (!containerPort) continue;
    const id = `${containerPort}/${protocol}`;
    const pair = pairs.get(id) ?? { port: containerPort, protocol, name: undefined };
    pairs.set(id, pair);
    if (!name || pair.name !== undefined || taken.has(name)) continue;
    pair.name = name;
    taken.add(name);
  }
  return [...pairs.values()];
}

/** An init container with restartPolicy Always is a sidecar: it runs beside the others. */
function listening({ containers, initContainers = [] }: PodSpec): Container[] {
  return [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === "Always")];
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let next = 2; taken.has(name); next++) name = `${wanted}-${next}`;
  taken.add(name);
  return name;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Whether the fields that the controller sets are equal, in order. Other fields of a port may differ. */
export function samePorts(found: readonly ServicePort[], wanted: readonly ServicePort[]): boolean {
  const ours = ({ name, protocol = "TCP", port, targetPort }: ServicePort): string =>
    JSON.stringify([name, protocol, port, targetPort]);
  return (
    found.length === wanted.length && found.every((port, index) => ours(port) === ours(wanted[index] as ServicePort))
  );
}
