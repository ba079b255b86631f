import { legacySandboxNameLabel, type SandboxClaim, sandboxNameAnnotation } from "@agent-sandbox/api";

/** The pool member that another controller chose for a claim: named in an annotation, formerly in a label. */
export interface Reference {
  readonly name: string;
  readonly isLegacy: boolean;
}

/**
 * This controller never writes a reference, because the adoption is one write. It honours references of other controllers, so that
 * a claim which they did not finish gets the same Sandbox.
 */
export function referenceOf({ metadata }: SandboxClaim): Reference | undefined {
  const annotation = metadata.annotations?.[sandboxNameAnnotation];
  if (annotation) return { name: annotation, isLegacy: metadata.labels?.[legacySandboxNameLabel] !== undefined };
  const label = metadata.labels?.[legacySandboxNameLabel];
  return label ? { name: label, isLegacy: true } : undefined;
}

/** The patch of the claim's metadata after which this is its only reference. */
export function referenceChange(claim: SandboxClaim, name: string | undefined): object {
  const { labels, annotations } = claim.metadata;
  return {
    ...(labels?.[legacySandboxNameLabel] === undefined ? {} : { labels: { [legacySandboxNameLabel]: null } }),
    ...(annotations?.[sandboxNameAnnotation] === name
      ? {}
      : { annotations: { [sandboxNameAnnotation]: name ?? null } }),
  };
}
