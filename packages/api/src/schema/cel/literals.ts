import type { ASTNode } from "@marcbachmann/cel-js";
import { isPattern } from "../pattern.ts";
import { publicNames } from "./environment.ts";
import { literalFormatError } from "./library/format-string.ts";
import type { CelType, CheckedNode } from "./library/macro-parts.ts";
import { nodesOf } from "./syntax-tree.ts";

/**
 * Finds errors in the constants of a checked expression, so that they are reported when the rule is compiled. `failure`
 * evaluates a constant part of the source and returns its error.
 */
export function literalError(root: ASTNode, failure: (source: string) => string | undefined): string | undefined {
  const free = new Set<unknown>();
  for (const node of nodesOf(root)) {
    // The arguments of format may have different types.
    if (isCall(node, "format")) for (const inner of nodesOf(argsOf(node))) free.add(inner);
    const error =
      patternError(node) ??
      formatError(node) ??
      (free.has(node) ? undefined : mixtureError(node as CheckedNode)) ??
      conversionError(node, failure);
    if (error !== undefined) return error;
  }
  return undefined;
}

const nameOf = (node: ASTNode): string => publicNames(String((node.args as unknown[])[0]));
const isCall = (node: ASTNode, name: string): boolean => node.op === "rcall" && nameOf(node) === name;
const argsOf = (node: ASTNode): readonly ASTNode[] => (node.args as unknown[]).at(-1) as ASTNode[];
const textOf = (node: ASTNode | undefined): string | undefined =>
  node?.op === "value" && typeof node.args === "string" ? node.args : undefined;

function patternError(node: ASTNode): string | undefined {
  if (node.op !== "call" && node.op !== "rcall") return undefined;
  const name = nameOf(node);
  if (name !== "matches" && name !== "find" && name !== "findAll") return undefined;
  const pattern = textOf(argsOf(node)[node.op === "call" ? 1 : 0]);
  return pattern === undefined || isPattern(pattern) ? undefined : `invalid ${name} argument`;
}

function formatError(node: ASTNode): string | undefined {
  if (!isCall(node, "format")) return undefined;
  const format = textOf((node.args as unknown as [string, ASTNode])[1]);
  const [list] = argsOf(node);
  if (format === undefined || list?.op !== "list") return undefined;
  return literalFormatError(
    format,
    (list.args as unknown as CheckedNode[]).map(({ checkedType }) => checkedType?.name ?? "dyn"),
  );
}

/** The items of a list, and the keys and values of a map, must have the same type. */
function mixtureError(node: CheckedNode): string | undefined {
  if (node.op === "list") return differenceOf(node.args as unknown as CheckedNode[]);
  if (node.op !== "map") return undefined;
  const entries = node.args as unknown as readonly (readonly [CheckedNode, CheckedNode])[];
  return differenceOf(entries.map(([key]) => key)) ?? differenceOf(entries.map(([, value]) => value));
}

function differenceOf(nodes: readonly CheckedNode[]): string | undefined {
  const types = nodes.flatMap(({ checkedType }) =>
    checkedType === undefined || isOpen(checkedType) ? [] : [checkedType],
  );
  const [first] = types;
  const other = types.find(({ name }) => name !== first?.name);
  return other === undefined ? undefined : `expected type '${first?.name}' but found '${other.name}'`;
}

const isOpen = ({ kind, name, hasPlaceholderType }: CelType): boolean =>
  kind === "dyn" || hasPlaceholderType || name.includes("dyn");

const conversions = new Set(["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"]);

function conversionError(node: ASTNode, failure: (source: string) => string | undefined): string | undefined {
  if (node.op !== "call" || !conversions.has(nameOf(node))) return undefined;
  const [given] = argsOf(node);
  const isConstant = given?.op === "value" || (given?.op === "-_" && given.args.op === "value");
  if (!isConstant) return undefined;
  const error = failure(node.input.slice(node.start, node.end));
  return error === undefined ? undefined : `invalid ${nameOf(node)} argument: ${error}`;
}
