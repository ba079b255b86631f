/** The ports of a sandbox for the page. Pure. The list of open ports comes from the sandbox, so nothing about its form is certain. */
import type { Sandbox } from "@agent-sandbox/api";

export interface ShownPort {
  readonly port: number;
  /** Where programs listen. Empty: nothing listens now. */
  readonly addresses: readonly string[];
  readonly commands: readonly string[];
  /** The containers that declare it, with the name of the port if it has one. */
  readonly declared: readonly string[];
  /** The runtime API itself listens there, for the SDKs and this page. */
  readonly isRuntime: boolean;
}

const runtimeCommand = "sandboxd";
export const mostPorts = 500;
const longestText = 300;

export function isPort(port: unknown): port is number {
  return typeof port === "number" && Number.isInteger(port) && port > 0 && port <= 65_535;
}

/** Undefined if the text is not the number of a port. */
export function readPort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0;
  return isPort(port) ? port : undefined;
}

/** One entry for each port, by number; those of the runtime API last. */
export function shownPorts(open: unknown, sandbox: Sandbox): readonly ShownPort[] {
  const found = new Map<number, { addresses: Set<string>; commands: Set<string>; declared: Set<string> }>();
  const entry = (port: number) => {
    const known = found.get(port) ?? { addresses: new Set(), commands: new Set(), declared: new Set() };
    found.set(port, known);
    return known;
  };
  for (const { port, name, container } of declaredPorts(sandbox)) {
    entry(port).declared.add(name === undefined ? container : `${container} (${name})`);
  }
  for (const one of Array.isArray(open) ? open : []) {
    const { port, address, command } = (one ?? {}) as Readonly<Record<string, unknown>>;
    if (!isPort(port) || (found.size >= mostPorts && !found.has(port))) continue;
    const { addresses, commands } = entry(port);
    addresses.add(shortText(address));
    if (shortText(command) !== "") commands.add(shortText(command));
  }
  return [...found]
    .map(([port, { addresses, commands, declared }]) => ({
      port,
      addresses: [...addresses],
      commands: [...commands],
      declared: [...declared],
      isRuntime: commands.size === 1 && commands.has(runtimeCommand),
    }))
    .toSorted((a, b) => Number(a.isRuntime) - Number(b.isRuntime) || a.port - b.port);
}

interface DeclaredPort {
  readonly port: number;
  readonly name: string | undefined;
  readonly container: string;
}

function declaredPorts({ spec }: Sandbox): readonly DeclaredPort[] {
  return (spec.podTemplate?.spec?.containers ?? []).flatMap(({ name: container, ports = [] }) =>
    ports
      .filter(({ protocol = "TCP" }) => protocol === "TCP")
      .map(({ containerPort, name }) => ({ port: containerPort, name, container })),
  );
}

function shortText(value: unknown): string {
  const text = typeof value === "string" ? value : "";
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}
