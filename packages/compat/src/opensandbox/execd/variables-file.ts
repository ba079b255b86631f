const name = /^(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s;
const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/**
 * Parses the file to which clients append variables: one `KEY='value'`, `KEY="value"` or `KEY=value` on each line, the last one of a name
 * wins. Values in double quotes have the escapes of JSON for a backslash, quotes and white space. Other lines are ignored.
 */
export function parseVariables(text: string): Readonly<Record<string, string>> {
  const pairs = text.split("\n").flatMap((line) => {
    const [, key, value = ""] = name.exec(line.trim()) ?? [];
    return key === undefined ? [] : [[key, unquoted(value)] as const];
  });
  return Object.fromEntries(pairs);
}

function unquoted(value: string): string {
  const quote = value[0];
  if (value.length < 2 || !value.endsWith(quote ?? "")) return value;
  const inner = value.slice(1, -1);
  // A shell's way to write a single quote in single quotes.
  if (quote === "'") return inner.replaceAll(`'\\''`, "'");
  if (quote !== '"') return value;
  return inner.replace(/\\(.)/gs, (_, letter: string) => escapes[letter] ?? letter);
}
