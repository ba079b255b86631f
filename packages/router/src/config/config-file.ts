/**
 * Parses a configuration file: a YAML mapping of flag names to scalars, one per line. The rest of YAML is not supported; an
 * error names the line.
 */
export function parseConfigFile(
  text: string,
): { readonly values: ReadonlyMap<string, string> } | { readonly error: string } {
  const values = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#.*)?$/.test(line) || line === "---") continue;
    const [, name, rest] = /^([A-Za-z0-9-]+):(?:\s+(.*))?$/.exec(line) ?? [];
    const value = rest === undefined ? undefined : scalar(rest);
    if (name === undefined || value === undefined)
      return { error: `Cannot read line ${index + 1}: want "<flag>: <value>"` };
    if (values.has(name)) return { error: `Cannot read line ${index + 1}: "${name}" is set twice` };
    values.set(name, value);
  }
  return { values };
}

function scalar(text: string): string | undefined {
  const [, double] = /^"((?:[^"\\]|\\["\\])*)"\s*(?:#.*)?$/.exec(text) ?? [];
  if (double !== undefined) return double.replaceAll(/\\(["\\])/g, "$1");
  const [, single] = /^'((?:[^']|'')*)'\s*(?:#.*)?$/.exec(text) ?? [];
  if (single !== undefined) return single.replaceAll("''", "'");
  const plain = text.replace(/\s+#.*$/, "").trim();
  return plain === "" || /^[[{&*!|>%@`"'-]/.test(plain) ? undefined : plain;
}
