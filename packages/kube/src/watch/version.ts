import { compareVersions } from "../cache/version.ts";

/**
 * The later of two resource versions; the newcomer where nobody can tell. A bookmark that arrives late or twice must not
 * take the follower back to events it has had.
 */
export function laterVersion(known: string, seen: string | undefined): string {
  if (seen === undefined) return known;
  return (compareVersions(seen, known) ?? 1) > 0 ? seen : known;
}
