/** The differences between two lists of packages with versions, such as `curl 7.88.1-10 → 7.88.1-11`. */
export function changedPackages(before: readonly string[], after: readonly string[]): string[] {
  const [old, current] = [versions(before), versions(after)];
  const names = [...new Set([...old.keys(), ...current.keys()])].sort();
  return names
    .filter((name) => old.get(name) !== current.get(name))
    .map((name) => `${name} ${old.get(name) ?? "(new)"} → ${current.get(name) ?? "(removed)"}`);
}

function versions(packages: readonly string[]): Map<string, string> {
  return new Map(
    packages.map((line): [string, string] => [line.split("=")[0] ?? "", line.slice(line.indexOf("=") + 1)]),
  );
}
