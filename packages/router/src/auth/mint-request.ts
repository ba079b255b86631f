export interface MintRequest {
  /** Any port when absent. */
  readonly ports?: readonly number[];
  readonly lifetimeSeconds: number;
}

const defaultLifetimeSeconds = 900;
/** A day: what has to last longer is minted again. */
const longestLifetimeSeconds = 86_400;
const mostPorts = 32;

/** Reads what someone asked for: `{"ports": [3000], "lifetimeSeconds": 900}`, both optional. */
export function readMintRequest(value: unknown): MintRequest | { readonly error: string } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { error: "Want a JSON object." };
  const { ports, lifetimeSeconds = defaultLifetimeSeconds, ...rest } = value as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return { error: `Unknown field: ${unknown.slice(0, 64)}` };
  const lifetime = Number(lifetimeSeconds);
  if (
    typeof lifetimeSeconds !== "number" ||
    !Number.isInteger(lifetime) ||
    lifetime < 1 ||
    lifetime > longestLifetimeSeconds
  ) {
    return { error: `Invalid lifetimeSeconds: want a whole number from 1 to ${longestLifetimeSeconds}.` };
  }
  if (ports === undefined) return { lifetimeSeconds: lifetime };
  const isPort = (port: unknown): boolean => Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535;
  if (!Array.isArray(ports) || ports.length === 0 || ports.length > mostPorts || !ports.every(isPort)) {
    return { error: `Invalid ports: want 1 to ${mostPorts} port numbers.` };
  }
  return { ports: ports as number[], lifetimeSeconds: lifetime };
}
