/** The makers of claims and Sandboxes that may appear in a Pod label, a metric or a span. */
export const knownCreators = ["go-client", "python-client", "controller"] as const;
export type Creator = (typeof knownCreators)[number] | "unknown";

/**
 * Bounds the value of the created-by label before it reaches a Pod label, a metric label or a span: any user may write
 * anything there. Absent and empty stay absent. Sandbox objects keep the value as it was written.
 */
export function normaliseCreatedBy(value: string | undefined): Creator | undefined {
  if (value === undefined || value === "") return undefined;
  return knownCreators.find((creator) => creator === value) ?? "unknown";
}
