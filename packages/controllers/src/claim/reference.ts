import { legacySandboxNameLabel, type SandboxClaim, sandboxNameAnnotation } from "@agent-sandbox/api";

/** The pool member that another controller chose for a claim: named in an annotation, formerly in a label. */
export interface Reference {
  readonly name: string;
  readonly isLegacy: boolean;
}

/**
 * A claim with a reference gets that Sandbox if it is still free, so that a claim that another controller did not finish is not
 * served twice. The reference itself gives no ownership.
 */
export function referenceOf({ metadata }: SandboxClaim): Reference | undefined {
  const annotation = metadata.annotations?.[sandboxNameAnnotation];
  if (annotation) return { name: annotation, isLegacy: metadata.labels?.[legacySandboxNameLabel] !== undefined };
  const label = metadata.labels?.[legacySandboxNameLabel];
  return label ? { name: label, isLegacy: true } : undefined;
}

/** The patch of the claim's metadata after which this is its only reference. */
export function referenceChange(
  claim: SandboxClaim,
  name: string | undefined,
): { readonly labels?: object; readonly annotations?: Readonly<Record<string, string | null>> } {
  const { labels, annotations } = claim.metadata;
  return {
    ...(labels?.[legacySandboxNameLabel] === undefined ? {} : { labels: { [legacySandboxNameLabel]: null } }),
    ...(annotations?.[sandboxNameAnnotation] === name
      ? {}
      : { annotations: { [sandboxNameAnnotation]: name ?? null } }),
  };
}
