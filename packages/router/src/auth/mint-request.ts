export interface MintRequest {
  /** Default: all ports. */
  readonly ports?: readonly number[];
  readonly lifetimeSeconds: number;
}

const defaultLifetimeSeconds = 900;
/** One day. A token for a longer time must be renewed. */
const maxLifetimeSeconds = 86_400;
const maxPorts = 32;

/** Reads the body of a request for a token: `{"ports": [3000], "lifetimeSeconds": 900}`, both optional. */
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
    lifetime > maxLifetimeSeconds
  ) {
    return { error: `Invalid lifetimeSeconds: want a whole number from 1 to ${maxLifetimeSeconds}.` };
  }
  if (ports === undefined) return { lifetimeSeconds: lifetime };
  const isPort = (port: unknown): boolean => Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535;
  if (!Array.isArray(ports) || ports.length === 0 || ports.length > maxPorts || !ports.every(isPort)) {
    return { error: `Invalid ports: want 1 to ${maxPorts} port numbers.` };
  }
  return { ports: ports as number[], lifetimeSeconds: lifetime };
}
