/** Where a sandbox comes from, for links: its claim, its pool and its template. Pure. */
import {
  isPoolMember,
  migrationShadowAnnotation,
  type Sandbox,
  type SandboxClaim,
  type SandboxWarmPool,
  sandboxTemplateRefAnnotation,
} from "@agent-sandbox/api";

export interface OriginLink {
  readonly kind: "claim" | "pool" | "template";
  readonly name: string;
  readonly href: string;
}

/** The claim that holds the sandbox. It sets its lifetime, and is deleted instead of it. */
export function ownerClaim({ metadata }: Sandbox): { readonly name: string; readonly uid: string } | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === "SandboxClaim" ? { name: owner.name, uid: owner.uid } : undefined;
}

export function originLinks(
  sandbox: Sandbox,
  claim?: SandboxClaim,
  pools: readonly SandboxWarmPool[] = [],
): readonly OriginLink[] {
  const { namespace = "", ownerReferences = [], annotations } = sandbox.metadata;
  const link = (kind: OriginLink["kind"], folder: string, name: string): OriginLink => ({
    kind,
    name,
    href: `/${folder}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`,
  });
  const links: OriginLink[] = [];
  const held = ownerClaim(sandbox);
  if (held !== undefined) links.push(link("claim", "claims", held.name));
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const pool = isPoolMember(sandbox) ? owner?.name : claim?.spec.warmPoolRef?.name;
  const isShadow = pools.some(
    ({ metadata }) => metadata.name === pool && metadata.annotations?.[migrationShadowAnnotation] === "true",
  );
  if (pool !== undefined && !isShadow) links.push(link("pool", "pools", pool));
  const template = annotations?.[sandboxTemplateRefAnnotation];
  if (template !== undefined) links.push(link("template", "templates", template));
  return links;
}
