/** An object matches a selector when it meets all requirements of the selector. */
interface Requirement {
  readonly key: string;
  readonly operator: "exists" | "absent" | "in" | "notin" | "gt" | "lt";
  readonly values: readonly string[];
}

export type Matcher = (labels: Readonly<Record<string, string>>) => boolean;
export type ParsedSelector = { readonly matches: Matcher } | { readonly problem: string };

/** Parses Kubernetes' label selector grammar: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`. */
export function parseLabelSelector(text: string): ParsedSelector {
  const requirements: Requirement[] = [];
  const tokens = tokenize(text);
  if (tokens === undefined) return { problem: `unable to parse requirement: found an invalid character in "${text}"` };
  for (let at = 0; at < tokens.length; ) {
    const step = parseRequirement(tokens, at);
    if ("problem" in step) return { problem: `unable to parse requirement: ${step.problem}` };
    requirements.push(step.requirement);
    at = step.next;
    if (at === tokens.length) break;
    if (tokens[at] !== ",") return { problem: `found '${tokens[at]}', expected: ',' or 'end of string'` };
    at += 1;
    const next = tokens[at] ?? "";
    if (next !== "!" && !identifier.test(next)) return { problem: `found '${next}', expected: identifier after ','` };
  }
  return { matches: (labels) => requirements.every((requirement) => meets(labels, requirement)) };
}

const identifier = /^[A-Za-z0-9_./-]+$/;
const tokenPattern = /\s*(==|!=|=|!|,|\(|\)|>|<|[A-Za-z0-9_./-]+)\s*/y;

function tokenize(text: string): string[] | undefined {
  const tokens: string[] = [];
  if (text.trim() === "") return tokens;
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < text.length) {
    const match = tokenPattern.exec(text);
    if (match?.[1] === undefined) return undefined;
    tokens.push(match[1]);
  }
  return tokens;
}

type Step = { readonly requirement: Requirement; readonly next: number } | { readonly problem: string };

function parseRequirement(tokens: readonly string[], start: number): Step {
  const negated = tokens[start] === "!";
  const at = negated ? start + 1 : start;
  const key = tokens[at] ?? "";
  const problem = labelKeyProblem(key);
  if (problem !== undefined) return { problem };
  const operator = tokens[at + 1];
  if (negated || operator === undefined || operator === ",") {
    return { requirement: { key, operator: negated ? "absent" : "exists", values: [] }, next: at + 1 };
  }
  switch (operator) {
    case "=":
    case "==":
      return parseOneValue(tokens, at + 2, { key, operator: "in" });
    case "!=":
      return parseOneValue(tokens, at + 2, { key, operator: "notin" });
    case ">":
    case "<":
      return parseBound(tokens, at + 2, { key, operator: operator === ">" ? "gt" : "lt" });
    case "in":
    case "notin":
      return parseSet(tokens, at + 2, { key, operator });
    default:
      return { problem: `found '${operator}', expected: in, notin, =, ==, !=, gt, lt` };
  }
}

type Head = Pick<Requirement, "key" | "operator">;

function parseOneValue(tokens: readonly string[], at: number, head: Head): Step {
  const token = tokens[at];
  // `a=` and `a=,b` select the empty value.
  if (token === undefined || token === ",") return { requirement: { ...head, values: [""] }, next: at };
  const problem = labelValueProblem(token);
  return problem === undefined ? { requirement: { ...head, values: [token] }, next: at + 1 } : { problem };
}

function parseBound(tokens: readonly string[], at: number, head: Head): Step {
  const token = tokens[at] ?? "";
  if (!/^-?\d{1,18}$/.test(token)) return { problem: `for '>' and '<' the value must be an integer, found '${token}'` };
  return { requirement: { ...head, values: [token] }, next: at + 1 };
}

function parseSet(tokens: readonly string[], start: number, head: Head): Step {
  if (tokens[start] !== "(") return { problem: `found '${tokens[start] ?? "the end"}', expected: '('` };
  const values: string[] = [];
  let expectValue = true;
  for (let at = start + 1; at < tokens.length; at += 1) {
    const token = tokens[at] as string;
    if (token === ")") {
      if (expectValue) values.push("");
      return { requirement: { ...head, values }, next: at + 1 };
    }
    if (token === ",") {
      if (expectValue) values.push("");
      expectValue = true;
      continue;
    }
    const problem = expectValue ? labelValueProblem(token) : `found '${token}', expected: ',' or ')'`;
    if (problem !== undefined) return { problem };
    values.push(token);
    expectValue = false;
  }
  return { problem: "found the end, expected: ')'" };
}

function meets(labels: Readonly<Record<string, string>>, { key, operator, values }: Requirement): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "exists":
      return value !== undefined;
    case "absent":
      return value === undefined;
    case "in":
      return value !== undefined && values.includes(value);
    case "notin":
      return value === undefined || !values.includes(value);
    case "gt":
      return isInteger(value) && BigInt(value) > BigInt(values[0] as string);
    case "lt":
      return isInteger(value) && BigInt(value) < BigInt(values[0] as string);
    default:
      return operator satisfies never;
  }
}

const isInteger = (value: string | undefined): value is string => value !== undefined && /^-?\d{1,63}$/.test(value);

const namePart = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Why a qualified name (label key, annotation key, finalizer) is invalid; `undefined` when it is valid. */
export function labelKeyProblem(key: string): string | undefined {
  const slash = key.indexOf("/");
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix !== undefined && (prefix.length > 253 || !subdomain.test(prefix))) {
    return `"${key}": the prefix part must be a DNS subdomain of at most 253 characters`;
  }
  if (name.length === 0 || name.length > 63 || !namePart.test(name)) {
    return `"${key}": the name part must be 1 to 63 letters, digits, '-', '_' or '.', and start and end with a letter or digit`;
  }
  return undefined;
}

export function labelValueProblem(value: string): string | undefined {
  if (value === "" || (value.length <= 63 && namePart.test(value))) return undefined;
  return `"${value.slice(0, 80)}": a label value must be at most 63 letters, digits, '-', '_' or '.', and start and end with a letter or digit`;
}
