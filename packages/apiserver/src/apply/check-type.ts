import { isJsonObject, type JsonObject } from "../api-object.ts";
import type { Interner } from "../interner.ts";
import { maxJsonDepth } from "../json.ts";
import { type FieldType, formOf, type ListType, type MapType, type ScalarType } from "./field-type.ts";
import { plainText, sourceText, typeName } from "./go-format.ts";
import { elementOf } from "./list-item.ts";
import { field, itemAt, pathOf, renderElement, renderPath, type Trail } from "./path-element.ts";

/** A client can send thousands of wrong fields. The answer lists this many. */
const maxProblems = 100;

export interface CheckOptions {
  /** Stored objects may repeat items of a keyed list, applied configurations may not. Default: false. */
  readonly allowDuplicates?: boolean;
  /** Remembers that interned members of the object, such as its spec, match. Only with `allowDuplicates`. */
  readonly interner?: Interner | undefined;
}

/** Why a value does not match its type, each problem with its path. */
export function typeProblems(
  value: unknown,
  type: FieldType,
  { allowDuplicates = false, interner }: CheckOptions = {},
): string[] {
  const check: Check = { allowDuplicates, interner, problems: [] };
  checkValue(check, { value, type, trail: undefined, depth: 1 });
  return check.problems;
}

interface Check {
  readonly allowDuplicates: boolean;
  readonly interner: Interner | undefined;
  readonly problems: string[];
}

interface Place {
  readonly value: unknown;
  readonly type: FieldType;
  readonly trail: Trail | undefined;
  readonly depth: number;
}

function report(check: Check, trail: Trail | undefined, what: string): void {
  if (check.problems.length >= maxProblems) return;
  check.problems.push(trail === undefined ? what : `${renderPath(pathOf(trail))}: ${what}`);
}

function checkValue(check: Check, place: Place): void {
  const { value, trail, depth } = place;
  if (depth > maxJsonDepth) return report(check, trail, `nested deeper than ${maxJsonDepth} levels`);
  if (value === null) return;
  const { interner } = check;
  if (depth === 2 && interner !== undefined && isJsonObject(value)) checkMember(check, place, value, interner);
  else checkForm(check, place);
}

/** Checks a member of the whole object. */
function checkMember(check: Check, place: Place, value: JsonObject, interner: Interner): void {
  const matching = interner.memo(newMatchingTypes, value);
  if (matching.has(place.type)) return;
  const before = check.problems.length;
  checkForm(check, place);
  if (check.problems.length === before && before < maxProblems) matching.add(place.type);
}

const newMatchingTypes = (): Set<FieldType> => new Set();

function checkForm(check: Check, place: Place): void {
  const { value, type, trail } = place;
  const form = formOf(type, value);
  if (form.is === "map") {
    if (isJsonObject(value)) checkMembers(check, place, { members: value, map: form.map });
    else report(check, trail, `expected map, got ${printed(value)}`);
  } else if (form.is === "list") {
    if (Array.isArray(value)) checkItems(check, place, { items: value, list: form.list });
    else report(check, trail, `expected list, got ${printed(value)}`);
  } else {
    const problem = scalarProblem(form.scalar, value);
    if (problem !== undefined) report(check, trail, problem);
  }
}

const printed = (value: unknown): string => `&{${plainText(value)}}`;

function scalarProblem(scalar: ScalarType, value: unknown): string | undefined {
  switch (scalar) {
    case "numeric":
      return typeof value === "number" ? undefined : `expected numeric (int or float), got ${typeName(value)}`;
    case "string":
      return typeof value === "string"
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${sourceText(value)}}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got ${printed(value)}`;
    case "untyped":
      return typeof value === "object" ? `expected any scalar, got ${printed(value)}` : undefined;
  }
}

function checkMembers(
  check: Check,
  { trail, depth }: Place,
  { members, map }: { members: { readonly [name: string]: unknown }; map: MapType },
): void {
  for (const [name, value] of Object.entries(members)) {
    const type = map.member(name);
    const inner: Trail = { above: trail, element: field(name) };
    if (type === undefined) report(check, inner, "field not declared in schema");
    else checkValue(check, { value, type, trail: inner, depth: depth + 1 });
  }
}

function checkItems(
  check: Check,
  { trail, depth }: Place,
  { items, list }: { items: readonly unknown[]; list: ListType },
): void {
  const seen = new Set<string>();
  for (const [at, value] of items.entries()) {
    let element = itemAt(at);
    if (!list.atomic) {
      const named = elementOf(list, value);
      if ("problem" in named) return report(check, trail, `element ${at}: ${named.problem}`);
      element = named.element;
      if (seen.has(element.id) && !check.allowDuplicates) {
        report(check, trail, `duplicate entries for key ${renderElement(element)}`);
      }
      seen.add(element.id);
    }
    checkValue(check, { value, type: list.item, trail: { above: trail, element }, depth: depth + 1 });
  }
}

/** Joins problems into one message, as kube-apiserver does. */
export function summary(problems: readonly string[]): string {
  return problems.length === 1
    ? (problems[0] as string)
    : ["errors:", ...problems.map((line) => `  ${line}`)].join("\n");
}
