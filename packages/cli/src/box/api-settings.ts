import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NamespaceLimits, ShareLimits } from "@agent-sandbox/apiserver";
import { CommandError } from "../command-error.ts";

/** Settings of the API server: the field "apiServer" of `config.json` in the data folder. */
export interface ApiSettings {
  readonly limits?: Partial<NamespaceLimits>;
  readonly shares?: Partial<ShareLimits>;
}

const fields: Readonly<Record<string, readonly string[]>> = {
  limits: ["objects", "bytes", "totalBytes"] satisfies (keyof NamespaceLimits)[],
  shares: ["requests", "waiting", "watches", "streams"] satisfies (keyof ShareLimits)[],
};

/** Returns no settings if the file does not exist. Rejects unknown fields and values that are not positive integers. */
export async function readApiSettings(dataDir: string): Promise<ApiSettings> {
  const path = join(dataDir, "config.json");
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "{}";
    throw error;
  });
  const refuse = (why: string): CommandError => new CommandError(`Cannot use "${path}": ${why}`);
  const { apiServer = {} } = parse(text, refuse);
  return checkApiSettings(apiServer, refuse);
}

function parse(text: string, refuse: (why: string) => Error): { readonly apiServer?: unknown } {
  try {
    const whole: unknown = JSON.parse(text);
    return isObject(whole) ? whole : {};
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
}

export function checkApiSettings(found: unknown, refuse: (why: string) => Error): ApiSettings {
  if (!isObject(found)) throw refuse("apiServer must be an object");
  for (const [part, values] of Object.entries(found)) {
    const known = fields[part];
    if (known === undefined)
      throw refuse(`apiServer.${part} is unknown; valid fields are ${Object.keys(fields).join(" and ")}`);
    if (!isObject(values)) throw refuse(`apiServer.${part} must be an object`);
    for (const [name, value] of Object.entries(values)) {
      if (!known.includes(name))
        throw refuse(`apiServer.${part}.${name} is unknown; valid fields are ${known.join(", ")}`);
      if (!Number.isSafeInteger(value) || Number(value) <= 0) {
        throw refuse(`apiServer.${part}.${name} must be a positive integer`);
      }
    }
  }
  return found;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
