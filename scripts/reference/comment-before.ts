/** The text of the comment that ends just before a position. */
export function commentBefore(text: string, start: number): string {
  const before = text.slice(0, start).trimEnd();
  if (!before.endsWith("*/")) return "";
  const open = before.lastIndexOf("/**");
  const between = before.slice(open + 3, -2);
  if (open === -1 || between.includes("*/")) return "";
  const lines = between.split("\n").map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  return lines
    .join("\n")
    .trim()
    .replaceAll(/^@param (\w+)/gm, "`$1`:")
    .replace(/^@example\n/m, "\n");
}
