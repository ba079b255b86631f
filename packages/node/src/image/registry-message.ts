import type { Reference } from "./reference.ts";
import type { RegistrySettings } from "./registries.ts";

/** What a registry itself says, and what we say about what it has sent. */
const answers = [
  /\bunauthorized\b|authentication required|access to the resource is denied|\bdenied\b|invalid username\/password/i,
  /manifest unknown|name unknown|repository name not known|blob unknown|manifest invalid/i,
  /too ?many ?requests/i,
  /no image found in (?:manifest list|image index)/i,
  /the registry (?:has|sends|is too slow)/,
  /^Cannot (?:use|unpack|store|run) /,
];

/**
 * What a tenant is told of a pull that failed. A host that is not a registry, does not answer, refuses or may not be reached
 * gets one and the same message: the name of an image must not be a way to find out which ports are open where.
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
    `there is no registry at "${registry}" that this node may use; a registry on this machine, or one without TLS, ` +
    `has to be named by the operator in "node.images.registries"`
  );
}
