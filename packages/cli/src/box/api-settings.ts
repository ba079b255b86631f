import type { NamespaceLimits, NamespacePercent, ShareLimits } from "@agent-sandbox/apiserver";
import { isObject, readConfigPart } from "./config-file.ts";

/** Settings of the API server: the field "apiServer" of `config.json` in the data folder. */
export interface ApiSettings {
  readonly limits?: Partial<NamespaceLimits>;
  readonly shares?: Partial<ShareLimits>;
  /** The part of the node that the Pods of one namespace may take, in percent of what other namespaces leave. */
  readonly namespacePercent?: Partial<NamespacePercent>;
}

const fields: Readonly<Record<string, readonly string[]>> = {
  limits: ["objects", "bytes", "totalBytes"] satisfies (keyof NamespaceLimits)[],
  shares: ["requests", "waiting", "watches", "streams"] satisfies (keyof ShareLimits)[],
  namespacePercent: ["cpu", "memory", "ephemeral-storage", "pods"] satisfies (keyof NamespacePercent)[],
};

/** Returns no settings if the file does not exist. Rejects unknown fields and values that are not positive integers. */
export async function readApiSettings(dataDir: string): Promise<ApiSettings> {
  const { found, refuse } = await readConfigPart(dataDir, "apiServer");
  return checkApiSettings(found, refuse);
}

export function checkApiSettings(found: unknown, refuse: (why: string) => Error): ApiSettings {
  if (!isObject(found)) throw refuse("apiServer must be an object");
  for (const [part, values] of Object.entries(found)) {
    const known = fields[part];
    if (known === undefined)
      throw refuse(`apiServer.${part} is unknown; valid fields are ${Object.keys(fields).join(", ")}`);
    if (!isObject(values)) throw refuse(`apiServer.${part} must be an object`);
    for (const [name, value] of Object.entries(values)) {
      if (!known.includes(name))
        throw refuse(`apiServer.${part}.${name} is unknown; valid fields are ${known.join(", ")}`);
      if (!Number.isSafeInteger(value) || Number(value) <= 0) {
        throw refuse(`apiServer.${part}.${name} must be a positive integer`);
      }
      if (part === "namespacePercent" && Number(value) > 100)
        throw refuse(`apiServer.${part}.${name} must be at most 100`);
    }
  }
  return found;
}
