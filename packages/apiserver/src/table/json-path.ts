import { isJsonObject } from "../api-object.ts";

/** One step of a path into an object. */
type Step =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly all: true }
  | { readonly where: readonly string[]; readonly equals: unknown };

export type JsonPath = (value: unknown) => unknown[];

/** The supported steps: `.name`, `['name']`, `[0]`, `[*]`, `[?(@.a.b=='c')]`. */
const stepPattern =
  /\.?(?:([A-Za-z_][\w-]*)|\['((?:[^'\\]|\\.)+)'\]|\[(-?\d+)\]|\[(\*)\]|\[\?\(@((?:\.[A-Za-z_][\w-]*)+)\s*==\s*(?:'([^']*)'|"([^"]*)"|(true|false|-?\d+))\)\])/y;

/** Compiles the subset of JSONPath that printer columns use. Returns `undefined` for other paths. */
export function compileJsonPath(path: string): JsonPath | undefined {
  const inner = path.startsWith("{") && path.endsWith("}") ? path.slice(1, -1) : path;
  const steps: Step[] = [];
  stepPattern.lastIndex = 0;
  while (stepPattern.lastIndex < inner.length) {
    const match = stepPattern.exec(inner);
    if (match === null) return undefined;
    steps.push(stepOf(match));
  }
  return (value) => steps.reduce<unknown[]>((values, step) => values.flatMap((each) => follow(each, step)), [value]);
}

function stepOf(match: RegExpExecArray): Step {
  const [, name, quoted, index, star, where, single, double, literal] = match;
  if (name !== undefined) return { key: name };
  if (quoted !== undefined) return { key: quoted.replace(/\\(.)/g, "$1") };
  if (index !== undefined) return { index: Number(index) };
  if (star !== undefined) return { all: true };
  const equals: unknown = single ?? double ?? (JSON.parse(literal as string) as unknown);
  return { where: (where as string).slice(1).split("."), equals };
}

function follow(value: unknown, step: Step): unknown[] {
  if ("key" in step) return isJsonObject(value) && Object.hasOwn(value, step.key) ? [value[step.key]] : [];
  const items = Array.isArray(value) ? (value as unknown[]) : isJsonObject(value) ? Object.values(value) : [];
  if ("index" in step) {
    const item = Array.isArray(value) ? items.at(step.index) : undefined;
    return item === undefined ? [] : [item];
  }
  if ("all" in step) return items;
  return items.filter((item) => {
    const found = step.where.reduce<unknown>(
      (each, key) => (isJsonObject(each) && Object.hasOwn(each, key) ? each[key] : undefined),
      item,
    );
    return found === step.equals;
  });
}
