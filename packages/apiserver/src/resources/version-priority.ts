const pattern = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/;
const stability = new Map([
  [undefined, 0],
  ["beta", 1],
  ["alpha", 2],
]);

/** Kubernetes' version priority: stable before beta before alpha, newer first, and then other names alphabetically. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [pattern.exec(left), pattern.exec(right)];
  if (a === null || b === null) {
    if (a === null && b === null) return left < right ? -1 : Number(left > right);
    return a === null ? 1 : -1;
  }
  const rank = (stability.get(a[2]) as number) - (stability.get(b[2]) as number);
  if (rank !== 0) return rank;
  return Number(b[1]) - Number(a[1]) || Number(b[3] ?? 0) - Number(a[3] ?? 0);
}
