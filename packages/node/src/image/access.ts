import { createHash } from "node:crypto";
import type { RegistryLogins } from "./credentials.ts";
import type { StoredImage } from "./image-index.ts";
import type { Reference } from "./reference.ts";
import type { RegistrySettings } from "./registries.ts";

/**
 * Who may use an image: `anyone`, or Pods that present the login with this digest. The registry has let each of them read
 * the image.
 */
export type AccessKey = string;

export const anyone: AccessKey = "anyone";

/** The logins for a registry or one of its mirrors. Only these are sent to it. */
export function loginsFor(
  { registry, repository }: Reference,
  logins: RegistryLogins,
  settings: readonly RegistrySettings[] = [],
): RegistryLogins {
  const name = `${registry}/${repository}`;
  const mirrors = settings.filter((one) => name === one.name || name.startsWith(`${one.name}/`));
  const hosts = new Set([registry, ...mirrors.flatMap((one) => one.mirrors ?? [])].map(hostOf));
  return Object.fromEntries(Object.entries(logins).filter(([key]) => hosts.has(hostOf(key))));
}

/** An image that was pulled without a login is public. */
export function accessKey(logins: RegistryLogins): AccessKey {
  const entries = Object.entries(logins).toSorted(byName);
  if (entries.length === 0) return anyone;
  const sorted = entries.map(([name, login]) => [name, Object.entries(login).toSorted(byName)]);
  return createHash("sha256").update(JSON.stringify(sorted)).digest("hex");
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1;

export function mayUse({ access, digests }: StoredImage, key: AccessKey): boolean {
  // Records of older versions have no `access`. An image without digests was loaded from an archive by the operator.
  const known = access ?? (digests.length === 0 ? [anyone] : []);
  return known.includes(anyone) || known.includes(key);
}

/** Docker's configuration files name docker.io in several ways, and other registries with a scheme and a path. */
function hostOf(name: string): string {
  const host = name.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
  return host === "index.docker.io" || host === "registry-1.docker.io" ? "docker.io" : host;
}
