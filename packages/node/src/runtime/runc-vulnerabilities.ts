/**
 * Why a version of runc must not run untrusted code, or undefined. `printed` is the output of `runc --version`; the output of
 * other programs is accepted. Distributions may backport fixes without changing the version: then the operator sets
 * `allowVulnerable` in the runtime's registration.
 */
export function runcVulnerability(printed: string): string | undefined {
  const [, text] = /^runc version (\S*)/.exec(printed) ?? [];
  if (text === undefined) return undefined;
  const version = parse(text);
  if (version === undefined) return `its version "${text}" is unknown, and so are its vulnerabilities`;
  const found = advisories.filter(({ fixedIn }) => !isFixed(version, fixedIn)).map(({ name }) => name);
  return found.length === 0 ? undefined : `runc ${text} has known vulnerabilities (${found.join(", ")})`;
}

/** Major, minor, patch, release candidate. A release has the candidate number Infinity. */
type Version = readonly [number, number, number, number];

const release = Number.POSITIVE_INFINITY;

/** The first fixed version of each release series. Later series have the fix from their start, earlier ones never. */
const advisories: readonly { readonly name: string; readonly fixedIn: readonly Version[] }[] = [
  { name: "CVE-2024-21626", fixedIn: [[1, 1, 12, release]] },
  ...["CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"].map((name) => ({
    name,
    fixedIn: [
      [1, 2, 8, release],
      [1, 3, 3, release],
      [1, 4, 0, 3],
    ] as const,
  })),
];

function parse(text: string): Version | undefined {
  const [, major, minor, patch, candidate] = /^(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-rc\.?(\d{1,4}))?/.exec(text) ?? [];
  if (major === undefined) return undefined;
  return [Number(major), Number(minor), Number(patch), candidate === undefined ? release : Number(candidate)];
}

function isFixed(version: Version, fixedIn: readonly Version[]): boolean {
  const sameSeries = fixedIn.find((fix) => fix[0] === version[0] && fix[1] === version[1]);
  if (sameSeries !== undefined) return !isBefore(version, sameSeries);
  return fixedIn.every((fix) => isBefore(fix, version));
}

function isBefore(one: Version, other: Version): boolean {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
}
