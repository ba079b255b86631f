/**
 * Compares two resource versions of one resource: negative if `a` is older, positive if it is newer, undefined if they
 * cannot be compared. Kubernetes 1.35 guarantees that versions are decimal integers, and every earlier server used them;
 * other strings are only equal or incomparable.
 */
export function compareVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (a === b) return 0;
  if (!isDecimal(a) || !isDecimal(b)) return undefined;
  // No leading zeros: the longer one is the larger.
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** Whether a cache at version `known` contains every change up to version `wanted`. */
export function includesVersion(known: string | undefined, wanted: string): boolean {
  return (compareVersions(known, wanted) ?? -1) >= 0;
}

/**
 * The later of two versions, and `received` if they cannot be compared. A bookmark that arrives late or twice must not
 * move a watch back to events it already had.
 */
export function laterVersion(known: string, received: string | undefined): string {
  if (received === undefined) return known;
  return (compareVersions(received, known) ?? 1) > 0 ? received : known;
}

export function isDecimal(version: string): boolean {
  if (version.length === 0) return false;
  for (let at = 0; at < version.length; at += 1) {
    const code = version.charCodeAt(at);
    if (code < 48 || code > 57) return false;
  }
  return version.charCodeAt(0) !== 48 || version.length === 1;
}
