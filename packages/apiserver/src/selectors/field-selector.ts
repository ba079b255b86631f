interface Requirement {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

export interface FieldSelector {
  /** The fields that the selector names. The caller checks that the kind supports them. */
  readonly fields: readonly string[];
  matches(values: Readonly<Record<string, string>>): boolean;
  /** The value that the selector requires of a field (`field=value`), if any. */
  exact(field: string): string | undefined;
}

export type ParsedFieldSelector = { readonly selector: FieldSelector } | { readonly problem: string };

/** Parses `a=b,c!=d,e==f`. A backslash escapes `,`, `=` and `\`. */
export function parseFieldSelector(text: string): ParsedFieldSelector {
  const requirements: Requirement[] = [];
  for (const term of splitUnescaped(text)) {
    if (term === "") continue;
    const match = /^([A-Za-z0-9_./-]+)(==|!=|=)(.*)$/s.exec(term);
    if (match === null) return { problem: `invalid selector: '${text}'; can't understand '${term}'` };
    const value = unescape(match[3] as string);
    if (value === undefined) return { problem: `invalid selector: '${text}'; invalid escape in '${term}'` };
    requirements.push({ field: match[1] as string, equal: match[2] !== "!=", value });
  }
  return {
    selector: {
      fields: requirements.map(({ field }) => field),
      matches: (values) => requirements.every(({ field, equal, value }) => ((values[field] ?? "") === value) === equal),
      exact: (wanted) => requirements.find(({ field, equal }) => equal && field === wanted)?.value,
    },
  };
}

function splitUnescaped(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === ",") {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function unescape(value: string): string | undefined {
  const bare = value.replace(/\\[\\,=]/g, "");
  if (/[\\=]/.test(bare)) return undefined;
  return value.replace(/\\([\\,=])/g, "$1");
}
