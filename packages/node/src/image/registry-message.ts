import type { Reference } from "./reference.ts";
import type { RegistrySettings } from "./registries.ts";

/** Messages that come from a registry, or are about its content. They reveal nothing about other hosts. */
const answers = [
  /\bunauthorized\b|authentication required|access to the resource is denied|\bdenied\b|invalid username\/password/i,
  /manifest unknown|name unknown|repository name not known|blob unknown|manifest invalid/i,
  /too ?many ?requests/i,
  /no image found in (?:manifest list|image index)/i,
  /the registry (?:has|sends|is too slow)/,
  /^Cannot (?:use|unpack|store|run) /,
];

/**
 * The message that a tenant sees for a failed pull. It is the same for a host that is not a registry, does not answer, refuses
 * the connection or is forbidden, so that image names cannot be used to scan for open ports.
 */
export function registryMessage(
  said: string,
  { registry, repository }: Reference,
  named: readonly RegistrySettings[],
): string {
  const name = `${registry}/${repository}`;
  const isNamed = named.some((one) => name === one.name || name.startsWith(`${one.name}/`));
  if (isNamed || answers.some((answer) => answer.test(said))) return said;
  return (
    `no registry that this node may use at "${registry}"; the operator must add a registry on this machine or without TLS ` +
    `to "node.images.registries"`
  );
}
