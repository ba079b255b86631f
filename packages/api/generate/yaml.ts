/** Writes a JSON value as block-style YAML, with keys in the order of the object. The output is deterministic. */
export function toYaml(value: unknown): string {
  return `${block(value, "").join("\n")}\n`;
}

function block(value: unknown, indent: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => listItem(item, indent));
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, child]) => entry(key, child, indent));
  }
  return [indent + scalar(value)];
}

function entry(key: string, child: unknown, indent: string): string[] {
  if (!isBranch(child)) return [`${indent}${scalar(key)}: ${scalar(child)}`];
  return [`${indent}${scalar(key)}:`, ...block(child, Array.isArray(child) ? indent : `${indent}  `)];
}

function listItem(item: unknown, indent: string): string[] {
  if (!isBranch(item)) return [`${indent}- ${scalar(item)}`];
  const [first = "", ...rest] = block(item, `${indent}  `);
  return [`${indent}- ${first.slice(indent.length + 2)}`, ...rest];
}

function isBranch(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

// Words that YAML 1.1 parsers read as booleans, null or numbers.
const ambiguous = /^(y|n|yes|no|on|off|true|false|null|\.inf|\.nan|\..*[0-9].*)$/i;
const plain = /^[A-Za-z./_][A-Za-z0-9._/-]*(?: [A-Za-z0-9._/;-]+)*$/;

function scalar(value: unknown): string {
  if (typeof value === "string" && plain.test(value) && !ambiguous.test(value)) return value;
  return JSON.stringify(value);
}
