const name = /^(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s;
const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/**
 * Parses the file to which clients append variables: one `KEY='value'`, `KEY="value"` or `KEY=value` on each line, the last one of a name
 * wins. A value in single quotes may have several lines. Values in double quotes have the escapes of JSON for a backslash, quotes and
 * white space. Other lines are ignored.
 */
export function parseVariables(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\n");
  const lastEnd = lines.findLastIndex((line) => line.trimEnd().endsWith("'"));
  const pairs: [string, string][] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, key, value = ""] = name.exec((lines[at] ?? "").trim()) ?? [];
    if (key === undefined) continue;
    // Without an end in the rest of the file, it is a line like the others: every line is looked at once.
    const isOpen = value.startsWith("'") && (value.length === 1 || !value.endsWith("'")) && at < lastEnd;
    if (!isOpen) {
      pairs.push([key, unquoted(value)]);
      continue;
    }
    const first = (lines[at] ?? "").trimStart();
    const rest: string[] = [];
    do rest.push(lines[++at] ?? "");
    while (!rest.at(-1)?.trimEnd().endsWith("'"));
    pairs.push([key, unquoted([first.slice(first.indexOf("'")), ...rest].join("\n").trimEnd())]);
  }
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
