import { type ASTNode, type Environment, Optional } from "@marcbachmann/cel-js";
import { spend } from "../budget.ts";
import { celCompare, entriesOf } from "./equality.ts";
import { spendOnSorting } from "./lists.ts";
import { type CelType, type Checker, type Evaluator, ownMacro, type Scope } from "./macro-parts.ts";

interface Call {
  readonly args: readonly ASTNode[];
  readonly receiver: ASTNode;
}

/** A loop over a list or a map, with a variable for the value or two variables for key (or index) and value. */
interface Loop {
  readonly range: ASTNode;
  readonly names: readonly string[];
  readonly bodies: readonly ASTNode[];
  scopes?: readonly Scope[];
}

type Item = readonly [unknown, unknown];
/** Evaluates one of the bodies for one item. */
type Body = (item: Item, at?: number) => unknown;

interface LoopKind {
  readonly signature: string;
  /** The number of variables: with one, it is the value; with two, the key or index comes first. */
  readonly names: number;
  /** CEL type of the result. */
  readonly returns: string;
  evaluate(items: readonly Item[], body: Body): unknown;
}

function nameOf(node: ASTNode): string {
  if (node.op !== "id") throw new Error("argument must be a simple name");
  return node.args;
}

function itemTypes(range: CelType, checker: Checker, node: ASTNode): readonly [CelType, CelType] {
  const dyn = checker.getType("dyn");
  if (range.kind === "dyn") return [dyn, dyn];
  if (range.kind === "list") return [checker.getType("int"), range.valueType ?? dyn];
  if (range.kind === "map") return [range.keyType ?? dyn, range.valueType ?? dyn];
  throw checker.createError("invalid_comprehension_range", `cannot be range of a comprehension`, node);
}

function itemsOf(range: unknown): Item[] {
  if (Array.isArray(range)) return range.map((value, index) => [BigInt(index), value]);
  if (typeof range === "object" && range !== null) return [...entriesOf(range)];
  throw new Error("cannot be range of a comprehension: must be list, map, or dynamic");
}

function loopMacro(kind: LoopKind): (call: Call) => object {
  return ({ args, receiver }) =>
    ownMacro({
      async: false,
      range: receiver,
      names: args.slice(0, kind.names).map(nameOf),
      bodies: args.slice(kind.names),
      typeCheck(checker: Checker, loop: Loop, scope: Scope): CelType {
        const [key, value] = itemTypes(checker.check(loop.range, scope), checker, loop.range);
        const types = kind.names === 1 ? [value] : [key, value];
        const scopes: Scope[] = [];
        for (const [at, name] of loop.names.entries()) {
          scopes.push((scopes.at(-1) ?? scope).forkWithVariable(name, types[at] ?? value));
        }
        loop.scopes = scopes;
        for (const body of loop.bodies) checker.check(body, scopes.at(-1) ?? scope);
        return checker.getType(kind.returns);
      },
      evaluate(evaluator: Evaluator, loop: Loop, scope: Scope): unknown {
        const items = itemsOf(evaluator.run(loop.range, scope));
        spend(items.length);
        return kind.evaluate(items, (item, at = 0) => {
          spend(10);
          const values = kind.names === 1 ? [item[1]] : item;
          let inner = scope;
          for (const [index, each] of (loop.scopes ?? []).entries()) {
            inner = each.reuse(inner).setIterValue(values[index], evaluator);
          }
          return evaluator.run(loop.bodies[at] as ASTNode, inner);
        });
      },
    });
}

/** In CEL an error for one item is ignored if another item decides the result. */
function decides(items: readonly Item[], body: Body, decisive: boolean): boolean {
  let failure: unknown;
  for (const item of items) {
    try {
      if (isTrue(body(item)) === decisive) return decisive;
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return !decisive;
}

function isTrue(value: unknown): boolean {
  if (typeof value !== "boolean") throw new Error("no such overload: predicate must return bool");
  return value;
}

const isOnlyOne = (items: readonly Item[], body: Body): boolean =>
  items.filter((item) => isTrue(body(item))).length === 1;

const kept = (items: readonly Item[], body: Body, hasFilter: boolean): readonly Item[] =>
  hasFilter ? items.filter((item) => isTrue(body(item, 0))) : items;

function transforming(hasFilter: boolean): LoopKind[] {
  const body = hasFilter ? 1 : 0;
  const filter = hasFilter ? "ast, " : "";
  return [
    {
      signature: `transformList(ast, ast, ${filter}ast): list`,
      names: 2,
      returns: "list",
      evaluate: (items, run) => kept(items, run, hasFilter).map((item) => run(item, body)),
    },
    {
      signature: `transformMap(ast, ast, ${filter}ast): map`,
      names: 2,
      returns: "map",
      evaluate: (items, run) => new Map(kept(items, run, hasFilter).map((item) => [item[0], run(item, body)])),
    },
    {
      signature: `transformMapEntry(ast, ast, ${filter}ast): map`,
      names: 2,
      returns: "map",
      evaluate: (items, run) => merged(kept(items, run, hasFilter).map((item) => run(item, body))),
    },
  ];
}

function merged(maps: readonly unknown[]): Map<unknown, unknown> {
  const result = new Map<unknown, unknown>();
  for (const map of maps) {
    if (typeof map !== "object" || map === null) throw new Error("no such overload: an entry must be a map");
    for (const [key, value] of entriesOf(map)) {
      if (result.has(key)) throw new Error(`insert failed: key ${String(key)} already exists`);
      result.set(key, value);
    }
  }
  return result;
}

const sortBy: LoopKind = {
  signature: "sortBy(ast, ast): list",
  names: 1,
  returns: "list",
  evaluate: (items, body) => {
    spendOnSorting(items);
    const keyed = items.map((item) => ({ key: body(item), value: item[1] }));
    return keyed.sort((a, b) => celCompare(a.key, b.key)).map(({ value }) => value);
  },
};

const loops: readonly LoopKind[] = [
  { signature: "all(ast, ast, ast): bool", names: 2, returns: "bool", evaluate: (i, b) => decides(i, b, false) },
  { signature: "exists(ast, ast, ast): bool", names: 2, returns: "bool", evaluate: (i, b) => decides(i, b, true) },
  { signature: "existsOne(ast, ast, ast): bool", names: 2, returns: "bool", evaluate: isOnlyOne },
  { signature: "exists_one(ast, ast, ast): bool", names: 2, returns: "bool", evaluate: isOnlyOne },
  ...transforming(false),
  ...transforming(true),
  sortBy,
];

/** `optional.optMap(name, expression)`: applies the expression to the value if there is one. */
function optionalMacro(isFlat: boolean): (call: Call) => object {
  return ({ args, receiver }) =>
    ownMacro({
      async: false,
      name: nameOf(args[0] as ASTNode),
      typeCheck(checker: Checker, macro: { name: string; inner?: Scope }, scope: Scope): CelType {
        const type = checker.check(receiver, scope);
        if (type.kind !== "optional" && type.kind !== "dyn") {
          throw checker.createError("optional_expected", "receiver must be optional", receiver);
        }
        macro.inner = scope.forkWithVariable(macro.name, type.valueType ?? checker.getType("dyn"));
        checker.check(args[1] as ASTNode, macro.inner);
        return checker.getType("optional<dyn>");
      },
      evaluate(evaluator: Evaluator, macro: { inner: Scope }, scope: Scope): unknown {
        const optional = evaluator.run(receiver, scope);
        if (!(optional instanceof Optional)) throw new Error("no such overload: receiver must be optional");
        if (!optional.hasValue()) return optional;
        const inner = macro.inner.reuse(scope).setIterValue(optional.value(), evaluator);
        const result = evaluator.run(args[1] as ASTNode, inner);
        return isFlat ? result : Optional.of(result);
      },
    });
}

export function registerMacros(environment: Environment): void {
  for (const loop of loops) environment.registerFunction(`list.${loop.signature}`, loopMacro(loop));
  environment.registerFunction("optional.optMap(ast, ast): optional", optionalMacro(false));
  environment.registerFunction("optional.optFlatMap(ast, ast): optional", optionalMacro(true));
}
