/** The clients whose names may appear in a Pod label, a metric or a span. */
export const knownCreators = ["go-client", "python-client", "controller"] as const;
export type Creator = (typeof knownCreators)[number] | "unknown";

/**
 * Limits the value of the created-by label to known clients before it is used as a Pod label, a metric label or a span
 * attribute, because users can write any value. An absent or empty value stays absent.
 */
export function normaliseCreatedBy(value: string | undefined): Creator | undefined {
  if (value === undefined || value === "") return undefined;
  return knownCreators.find((creator) => creator === value) ?? "unknown";
}
