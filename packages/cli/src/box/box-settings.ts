import { type ListenAddress, originProblem, parseListenAddress } from "@agent-sandbox/api";
import { CommandError } from "../command-error.ts";
import { defaultListen } from "./box-paths.ts";
import { isObject, readConfigPart } from "./config-file.ts";

/** Settings of the box itself: the part "box" of `config.json` in the data folder. Flags of `up` override them. */
export interface BoxSettings {
  /** Address of the API server. Default: 127.0.0.1:7643. */
  readonly listen?: string;
  /** Address of the router. Default: 127.0.0.1:7680. */
  readonly routerListen?: string;
  /** Address of the dashboard. Default: 127.0.0.1:7681. */
  readonly dashboardListen?: string;
  /** Address of the listener for clients of other platforms. Default: 127.0.0.1:7682. */
  readonly compatListen?: string;
  /** Origins whose web pages may use the API server and the router. Default: none. */
  readonly allowOrigins?: readonly string[];
  /** The group of this machine whose members may use the box. Default: none, only root may. */
  readonly group?: string;
}

export async function readBoxSettings(dataDir: string): Promise<BoxSettings> {
  const { found, refuse } = await readConfigPart(dataDir, "box");
  return checkBoxSettings(found, refuse);
}

/** The same rules as for the flags. Unknown fields are refused, because they may be typos. */
export function checkBoxSettings(found: unknown, refuse: (why: string) => Error): BoxSettings {
  if (!isObject(found)) throw refuse("box must be an object");
  for (const [name, value] of Object.entries(found)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) throw refuse(`box.${name} is unknown; valid fields are ${boxFields.join(", ")}`);
    const problem = check(value);
    if (problem !== undefined) throw refuse(`box.${name}: ${problem}`);
  }
  return found;
}

const checks: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  listen: (value) => problemOf(() => parseListen(textOf(value))),
  routerListen: (value) => problemOf(() => parseListen(textOf(value))),
  dashboardListen: (value) => problemOf(() => parseListen(textOf(value))),
  compatListen: (value) => problemOf(() => parseListen(textOf(value))),
  allowOrigins: (value) => problemOf(() => checkOrigins(textsOf(value))),
  group: (value) => problemOf(() => checkGroup(textOf(value))),
};

export const boxFields: readonly string[] = Object.keys(checks);

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new CommandError("must be a text");
  return value;
}

function textsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new CommandError("must be a list of texts");
  return value.map(textOf);
}

function problemOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The sandboxes of a box are below localhost. */
export function checkOrigins(origins: readonly string[]): readonly string[] {
  for (const origin of origins) {
    const problem = originProblem(origin, ["localhost"]);
    if (problem !== undefined) throw new CommandError(`Cannot allow an origin: ${problem}`);
  }
  return origins;
}

/** The host is required: the box must not serve on every address by accident. */
export function parseListen(text: string): Required<ListenAddress> {
  const { host, port } = parseListenAddress(text) ?? {};
  if (host === undefined || port === undefined) {
    throw new CommandError(`Cannot listen on "${text}": write address:port, as in ${defaultListen}`);
  }
  return { host, port };
}

/** The names that groupadd(8) accepts. */
export function checkGroup(name: string): string {
  if (/^[a-z_][a-z0-9_-]{0,31}$/.test(name)) return name;
  throw new CommandError(`Cannot use the group "${name}": it must be the name of a group of this machine`);
}
