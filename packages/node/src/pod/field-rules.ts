/**
 * Combinators for allow-lists of fields. A rule accepts a value, or returns the path and the reason of its refusal.
 * A field without a rule is refused unless it is empty.
 */
export type Rule = (value: unknown, path: string) => Refusal | undefined;

export interface Refusal {
  readonly path: string;
  readonly message: string;
}

/** For fields that are checked elsewhere or have no effect on a single node. */
export const anything: Rule = () => undefined;

export function oneOf(...values: readonly unknown[]): Rule {
  return (value, path) =>
    values.includes(value)
      ? undefined
      : refuse(
          path,
          `${JSON.stringify(value)} is not supported by this node; supported: ${values.map((one) => JSON.stringify(one)).join(", ")}`,
        );
}

export function matching(pattern: RegExp, what: string): Rule {
  return (value, path) =>
    typeof value === "string" && pattern.test(value)
      ? undefined
      : refuse(path, `${JSON.stringify(value)} is not ${what}`);
}

export function satisfying(test: (value: unknown) => boolean, what: string): Rule {
  return (value, path) => (test(value) ? undefined : refuse(path, `${JSON.stringify(value)} is not ${what}`));
}

export function object(fields: Readonly<Record<string, Rule>>): Rule {
  return (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse(path, "must be an object");
    for (const [name, member] of Object.entries(value)) {
      if (isEmpty(member)) continue;
      const rule = Object.hasOwn(fields, name) ? fields[name] : undefined;
      const refusal =
        rule === undefined
          ? refuse(`${path}.${name}`, "is not supported by this node")
          : rule(member, `${path}.${name}`);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
}

export function list(rule: Rule, most: number): Rule {
  return (value, path) => {
    if (!Array.isArray(value)) return refuse(path, "must be a list");
    if (value.length > most) return refuse(`${path}[${most}]`, `is not supported by this node: at most ${most}`);
    for (const [index, member] of value.entries()) {
      const refusal = rule(member, `${path}[${index}]`);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
}

export function refuse(path: string, message: string): Refusal {
  return { path, message };
}

/** Empty fields are accepted: they request nothing. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
