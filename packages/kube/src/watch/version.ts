const decimal = /^[0-9]{1,30}$/;

/**
 * The later of two resource versions. Versions are decimal numbers in every Kubernetes server; where one is not, the
 * newcomer wins. A bookmark that arrives late or twice must not take the follower back to events it has had.
 */
export function laterVersion(known: string, seen: string | undefined): string {
  if (seen === undefined || seen === known) return known;
  if (!decimal.test(known) || !decimal.test(seen)) return seen;
  if (seen.length !== known.length) return seen.length > known.length ? seen : known;
  return seen > known ? seen : known;
}
