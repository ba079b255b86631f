/**
 * Negative when `a` is older than `b`, positive when newer, undefined when nobody can tell. Versions of one resource are
 * comparable as whole numbers (Kubernetes says so since 1.35, and every server before did so); anything else is only
 * ever equal or unknown.
 */
export function compareVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (a === b) return 0;
  if (!isDecimal(a) || !isDecimal(b)) return undefined;
  // No leading zeros: the longer one is the larger.
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** Whether what is known at version `known` includes everything up to `wanted`. */
export function includesVersion(known: string | undefined, wanted: string): boolean {
  return (compareVersions(known, wanted) ?? -1) >= 0;
}

export function isDecimal(version: string): boolean {
  if (version.length === 0) return false;
  for (let at = 0; at < version.length; at += 1) {
    const code = version.charCodeAt(at);
    if (code < 48 || code > 57) return false;
  }
  return version.charCodeAt(0) !== 48 || version.length === 1;
}
