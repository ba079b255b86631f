import { legacySandboxNameLabel, type SandboxClaim, sandboxNameAnnotation } from "@agent-sandbox/api";

/** The pool member that another controller noted on a claim before taking it: an annotation, once a label. */
export interface Reference {
  readonly name: string;
  readonly isLegacy: boolean;
}

/**
 * Never written by us: the transfer of the Sandbox says all. What others left is honoured, so that a claim they were in the
 * middle of is finished with the same Sandbox.
 */
export function referenceOf({ metadata }: SandboxClaim): Reference | undefined {
  const annotation = metadata.annotations?.[sandboxNameAnnotation];
  if (annotation) return { name: annotation, isLegacy: metadata.labels?.[legacySandboxNameLabel] !== undefined };
  const label = metadata.labels?.[legacySandboxNameLabel];
  return label ? { name: label, isLegacy: true } : undefined;
}

/** The change of a claim's metadata that leaves this as its only reference. */
export function referenceChange(claim: SandboxClaim, name: string | undefined): object {
  const { labels, annotations } = claim.metadata;
  return {
    ...(labels?.[legacySandboxNameLabel] === undefined ? {} : { labels: { [legacySandboxNameLabel]: null } }),
    ...(annotations?.[sandboxNameAnnotation] === name
      ? {}
      : { annotations: { [sandboxNameAnnotation]: name ?? null } }),
  };
}
