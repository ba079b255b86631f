/** The field of a result for each media type. Others are under `extra`. */
const fieldByType: Readonly<Record<string, string>> = {
  "text/plain": "text",
  "text/html": "html",
  "text/markdown": "markdown",
  "image/svg+xml": "svg",
  "image/png": "png",
  "image/jpeg": "jpeg",
  "application/pdf": "pdf",
  "text/latex": "latex",
  "application/json": "json",
  "application/javascript": "javascript",
  "e2b/data": "data",
  "e2b/chart": "chart",
  "application/vnd.agent-sandbox.chart+json": "chart",
};

export function resultFields(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const known: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  for (const [type, content] of Object.entries(data)) {
    const field = Object.hasOwn(fieldByType, type) ? fieldByType[type] : undefined;
    if (field === undefined) extra[type] = content;
    else known[field] = field === "text" ? unquoted(content) : content;
  }
  return Object.keys(extra).length === 0 ? known : { ...known, extra };
}

/** The text of a string loses one pair of quotes, as with E2B's kernel. */
function unquoted(content: unknown): unknown {
  if (typeof content !== "string") return content;
  const [first] = content;
  const isQuoted = content.length > 1 && (first === "'" || first === '"') && content.endsWith(first);
  return isQuoted ? content.slice(1, -1) : content;
}
