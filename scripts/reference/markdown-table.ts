/** A table in Markdown. Cells are text; a cell that contains code brings its own backquotes. */
export function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(heads), `|${heads.map(() => "---").join("|")}|`, ...rows.map((row) => line(row.map(cell)))].join("\n");
}

function cell(text: string): string {
  // Inside code, Markdown shows `<` as it is.
  const parts = text.split(/(`[^`]*`)/).map((part) => (part.startsWith("`") ? part : part.replaceAll("<", "&lt;")));
  return parts.join("").replaceAll("|", "\\|").replaceAll(/\s+/g, " ").trim();
}
