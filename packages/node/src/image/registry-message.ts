import { explainPull } from "./explain-pull.ts";
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

/** Public registries at fixed hosts: that they cannot be reached tells a tenant nothing about this machine's network. */
const publicRegistries: readonly string[] = [
  "docker.io",
  "gcr.io",
  "ghcr.io",
  "mcr.microsoft.com",
  "public.ecr.aws",
  "quay.io",
  "registry.k8s.io",
];

export interface FailedPull {
  readonly said: string;
  /**
   * Whether the registry had returned the manifest. From then on a tenant's manifest decides which hosts are asked for layers.
   */
  readonly hasManifest: boolean;
}

/**
 * The message that a tenant sees for a failed pull. It is the same for a host that is not a registry, does not answer, refuses
 * the connection or is forbidden, so that image names cannot be used to scan for open ports. The reason is told only for
 * registries that the operator or this program has chosen.
 */
export function registryMessage(
  { said, hasManifest }: FailedPull,
  reference: Reference,
  named: readonly RegistrySettings[],
): string {
  const { registry, repository } = reference;
  const name = `${registry}/${repository}`;
  const isNamed = named.some((one) => name === one.name || name.startsWith(`${one.name}/`));
  const isPublic = !hasManifest && publicRegistries.includes(registry);
  if (isNamed || isPublic || answers.some((answer) => answer.test(said))) return explainPull(said, reference);
  return (
    `no registry that this node may use at "${registry}"; the operator finds the reason with "agent-sandbox image pull", and ` +
    `must add a registry on this machine or without TLS to "node.images.registries" in config.json (no restart is needed)`
  );
}
