import { type ASTNode, Environment, type ParseResult } from "@marcbachmann/cel-js";
import { matchesPattern } from "../pattern.ts";

/** A compiled CEL expression over `self` and, if it mentions it, `oldSelf`. */
export interface Program {
  readonly usesOldSelf: boolean;
  /** How deep loops such as `all` are nested: the time grows with this power of the length of a list. */
  readonly loops: number;
  /** Throws when evaluation fails, with a message for people. */
  run(variables: { readonly self: unknown; readonly oldSelf?: unknown }): unknown;
}

export type Compilation = { readonly program: Program } | { readonly error: string };

// The library evaluates `matches` with JavaScript's expressions, which a hostile pattern can hang: RE2 takes its place.
const matchesRe2 = "matchesRe2";

const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
  .registerVariable("self", "dyn")
  .registerVariable("oldSelf", "dyn")
  .registerFunction(`string.${matchesRe2}(string): bool`, (text: string, pattern: string) =>
    matchesPattern(pattern, text),
  );

/** The result says what is wrong with the expression, or that it cannot give the wanted type. */
export function compile(expression: string, type?: "bool" | "string"): Compilation {
  const parsed = parse(expression);
  if (typeof parsed === "string") return { error: parsed };
  let usesOldSelf = false;
  for (const node of nodesOf(parsed.ast)) {
    if (node.op === "id" && node.args === "oldSelf") usesOldSelf = true;
    if (node.op === "rcall" && node.args[0] === "matches") node.args[0] = matchesRe2;
  }
  const checked = parsed.check();
  if (!checked.valid) return { error: checked.error?.summary ?? "cannot be type-checked" };
  if (type !== undefined && checked.type !== type && checked.type !== "dyn") {
    return { error: `must evaluate to ${type}, not ${checked.type}` };
  }
  return { program: { usesOldSelf, loops: loopsOf(parsed.ast), run: (variables) => evaluate(parsed, variables) } };
}

function parse(expression: string): ParseResult | string {
  try {
    return environment.parse(expression);
  } catch (error) {
    return summaryOf(error);
  }
}

function evaluate(parsed: ParseResult, variables: object): unknown {
  try {
    return parsed(variables);
  } catch (error) {
    throw new Error(summaryOf(error), { cause: error });
  }
}

/** The library's own message repeats the source with a marker over several lines; the summary is one line. */
function summaryOf(error: unknown): string {
  const { summary, message } = error as { summary?: string; message: string };
  const text = summary ?? message;
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const macros = new Set(["all", "exists", "exists_one", "existsOne", "filter", "map"]);

function loopsOf(node: unknown): number {
  if (Array.isArray(node)) return Math.max(0, ...node.map(loopsOf));
  if (!isNode(node)) return 0;
  const own = node.op === "rcall" && macros.has(node.args[0]) ? 1 : 0;
  return own + loopsOf(node.args);
}

function* nodesOf(node: unknown): Generator<ASTNode> {
  if (Array.isArray(node)) {
    for (const child of node) yield* nodesOf(child);
  } else if (isNode(node)) {
    yield node;
    yield* nodesOf(node.args);
  }
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === "object" && value !== null && "op" in value && "args" in value;
}
