const warning = /(?:^|,)\s*[0-9]{3} \S+ "((?:[^"\\]|\\.)*)"/g;

/** Parses a `Warning` header, in which API servers report deprecations and unknown fields. */
export function readWarnings(header: string | undefined): string[] {
  if (header === undefined) return [];
  return [...header.matchAll(warning)].map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1"));
}
