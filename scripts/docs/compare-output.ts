/** What differs from one run to the next, wherever it appears in an expected output. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/y, String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`],
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/y, "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"],
  // Ages and sizes: 5s, 2m10s, 3d, 41.5MiB.
  [/(?:\d+(?:\.\d+)?(?:ms|[smhd]))+(?![\w])/y, String.raw`(?:\d+(?:\.\d+)?(?:ms|[smhd]))+`],
  [/\d+(?:\.\d+)? ?(?:[KMG]i)?B\b/y, String.raw`\d+(?:\.\d+)? ?(?:[KMG]i)?B`],
  [/10\.200\.\d+\.\d+/y, String.raw`10\.\d+\.\d+\.\d+`],
];

/**
 * A pattern for an output. Times, ages, sizes, UIDs and Pod addresses match others of their kind, `…` matches any text of a line, and
 * a line `…` matches any lines. The width of columns does not matter.
 */
export function outputPattern(expected: string): RegExp {
  const lines = withoutPadding(expected).split("\n");
  const parts = lines.map((line) => (line === "…" ? "(?:.*\n)*?" : `${linePattern(line)}\n`));
  return new RegExp(`^${parts.join("")}$`);
}

function linePattern(line: string): string {
  let pattern = "";
  for (let at = 0; at < line.length; ) {
    const found = varying
      .map(([one, general]) => [matchAt(one, line, at), general] as const)
      .find(([text]) => text !== "");
    const isInsideWord = at > 0 && /\w/.test(line[at - 1] ?? "") && /\w/.test(line[at] ?? "");
    if (found !== undefined && !isInsideWord) {
      pattern += found[1];
      at += found[0].length;
    } else {
      const character = line[at] ?? "";
      pattern += character === "…" ? ".*?" : character.replace(/[$()*+.?[\\\]^{|}]/, String.raw`\$&`);
      at++;
    }
  }
  return pattern;
}

function matchAt(expression: RegExp, text: string, at: number): string {
  expression.lastIndex = at;
  return expression.exec(text)?.[0] ?? "";
}

function withoutPadding(text: string): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.trim().replaceAll(/\s+/g, " "))
    .join("\n");
}

export function matchesOutput(expected: string, output: string): boolean {
  return outputPattern(expected).test(`${withoutPadding(output)}\n`);
}
