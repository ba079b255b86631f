import { writeFile } from "node:fs/promises";
import type { Secret } from "@agent-sandbox/api";

/** Logins by registry, as in the `auths` of docker's `config.json`. */
export type RegistryLogins = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const keyByType: Readonly<Record<string, string>> = {
  "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
  "kubernetes.io/dockercfg": ".dockercfg",
};

/** The logins in the Secrets of `imagePullSecrets`. The first one for a registry wins. Malformed Secrets are ignored. */
export function loginsFrom(secrets: readonly Secret[]): RegistryLogins {
  const found = secrets.flatMap((secret) => Object.entries(loginsIn(secret)));
  return Object.fromEntries(found.toReversed());
}

function loginsIn({ type = "", data = {} }: Secret): RegistryLogins {
  const key = Object.hasOwn(keyByType, type) ? keyByType[type] : undefined;
  if (key === undefined) return {};
  try {
    const value = JSON.parse(Buffer.from(data[key] ?? "", "base64").toString("utf8")) as Record<string, unknown>;
    const logins = (key === ".dockercfg" ? value : value["auths"]) ?? {};
    return Object.fromEntries(
      Object.entries(logins).filter(([, login]) => typeof login === "object" && login !== null),
    );
  } catch {
    return {};
  }
}

/** Writes the logins to a new file that only its owner can read. */
export async function writeLogins(path: string, logins: RegistryLogins): Promise<void> {
  await writeFile(path, JSON.stringify({ auths: logins }), { mode: 0o600, flag: "wx" });
}
