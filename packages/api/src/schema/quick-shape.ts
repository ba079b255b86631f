import { applyDefaults } from "./defaults.ts";
import type { FieldError } from "./field-error.ts";
import { isObject, type JsonObject } from "./json-value.ts";
import { onceForText } from "./once-for-text.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validateSchema } from "./validate-schema.ts";
import { validateLeaf } from "./validate-value.ts";

/** How a family of kinds writes down its values. */
export interface Dialect {
  /** Lists and maps with nothing in them are left out. */
  readonly dropsEmpty: boolean;
  /** Writes values of this schema in their one form: `undefined` for a wrong value. Absent when they have but one form. */
  rewrite?(schema: StructuralSchema): ((value: Json) => Json | undefined) | undefined;
  /** Spares members of whole objects that were shaped before, where somebody knows them again. */
  onceForParts?(shape: (part: Json) => Json | symbol): (part: Json) => Json | symbol;
  /** Whether a part that was seen here is never changed by anybody. Default: it may be. */
  readonly partsAreFixed?: boolean;
}

const refused: unique symbol = Symbol("refused");
type Shape = (value: Json) => Json | typeof refused;

/**
 * Pruning, defaulting and checking in one walk, for objects with nothing to complain about: a schema is read once and
 * becomes a function. Anything unusual, be it wrong, unknown or null, is left to those who can name it.
 */
export class QuickShaper {
  readonly #dialect: Dialect;
  readonly #shapes = new WeakMap<StructuralSchema, Shape>();
  readonly #roots = new WeakMap<StructuralSchema, Shape>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** The object as it would be stored; `undefined` when it takes a closer look. Untouched parts are shared. */
  shape(schema: StructuralSchema, object: Json): Json | undefined {
    let root = this.#roots.get(schema);
    if (root === undefined) {
      const [object, check] = [this.#object(schema, true), leafCheck(schema)];
      root = (value) => {
        const shaped = object(value);
        return shaped !== refused && check(shaped) ? shaped : refused;
      };
      this.#roots.set(schema, root);
    }
    const shaped = root(object);
    return shaped === refused ? undefined : shaped;
  }

  #shape(schema: StructuralSchema): Shape {
    const known = this.#shapes.get(schema);
    if (known !== undefined) return known;
    const made = this.#make(schema);
    this.#shapes.set(schema, made);
    return made;
  }

  #make(schema: StructuralSchema): Shape {
    if (schema["x-kubernetes-embedded-resource"] === true) return refuse;
    const rewrite = this.#dialect.rewrite?.(schema);
    const check = leafCheck(schema);
    const nothing: Shape = schema.nullable === true && isPermitted(schema, null) ? keep : refuse;
    if (rewrite !== undefined) {
      return (value) => {
        if (value === null) return nothing(value);
        const written = rewrite(value);
        return written !== undefined && check(written) ? written : refused;
      };
    }
    const [object, list] = [this.#object(schema, false), this.#list(schema)];
    return (value) => {
      if (value === null) return nothing(value);
      if (typeof value !== "object") return check(value) ? value : refused;
      const shaped = Array.isArray(value) ? list(value) : object(value);
      return shaped !== refused && check(shaped) ? shaped : refused;
    };
  }

  #list({ items, "x-kubernetes-preserve-unknown-fields": open }: StructuralSchema): Shape {
    if (items === undefined)
      return open === true ? keep : (list) => (Array.isArray(list) && list.length > 0 ? refused : list);
    if (open === true) return refuse;
    const shapeOf = this.#later(items);
    return (list) => {
      const shape = shapeOf();
      let changed: Json[] | undefined;
      const given = list as Json[];
      for (let at = 0; at < given.length; at += 1) {
        const item = given[at] as Json;
        const shaped = shape(item);
        if (shaped === refused) return refused;
        if (shaped === item) continue;
        changed ??= [...given];
        changed[at] = shaped;
      }
      return changed ?? list;
    };
  }

  /** `root`: a whole object rather than a part of one. */
  #object(schema: StructuralSchema, root: boolean): Shape {
    const members = new Map<string, Member>();
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      members.set(name, root ? this.#part(property) : this.#member(property));
    }
    if (root) for (const name of metaFields) keepWhole(members, name, schema.properties?.[name]);
    const others = this.#others(schema);
    const defaults = defaultsOf(schema);
    const needed = schema.required ?? [];
    return (value) => {
      if (!isObject(value)) return refused;
      const result = shapeMembers(value, members, others);
      return result === refused ? refused : complete(result, result !== value, defaults, needed);
    };
  }

  #others(schema: StructuralSchema): Member | undefined {
    const { additionalProperties: others } = schema;
    if (typeof others === "object") return this.#member(others);
    if (others === true) return { shape: () => (value) => (typeof value === "object" ? refused : value), drops: never };
    return others === undefined && schema["x-kubernetes-preserve-unknown-fields"] === true ? kept : undefined;
  }

  #member(schema: StructuralSchema): Member {
    return { shape: this.#later(schema), drops: this.#dialect.dropsEmpty ? dropped(schema) : never };
  }

  #part(schema: StructuralSchema): Member {
    const member = this.#member(schema);
    let once: Shape | undefined;
    const made = (): Shape => (this.#dialect.onceForParts?.(member.shape()) as Shape | undefined) ?? member.shape();
    const fixed = this.#dialect.partsAreFixed === true;
    return { ...member, shape: () => (once ??= fixed ? onceForShaped(made()) : made()) };
  }

  /** Schemas are large and objects use little of them: a part is made ready when it is first met. */
  #later(schema: StructuralSchema): () => Shape {
    let shape: Shape | undefined;
    return () => (shape ??= this.#shape(schema));
  }
}

/** Most writes leave most parts as they are: what came out of here stays as it is when it comes again. */
function onceForShaped(shape: Shape): Shape {
  const inShape = new WeakSet<object>();
  return (part) => {
    if (!isObject(part)) return shape(part);
    if (inShape.has(part)) return part;
    const shaped = shape(part);
    if (shaped !== refused && isObject(shaped)) inShape.add(shaped);
    return shaped;
  };
}

interface Member {
  shape(): Shape;
  /** Whether a value is left out. */
  drops(value: Json): boolean;
}

const metaFields = ["apiVersion", "kind", "metadata"] as const;

const refuse: Shape = () => refused;
const keep: Shape = (value) => value;
const never = (): boolean => false;
const kept: Member = { shape: () => keep, drops: never };

/** The metadata of an object is not pruned: where a schema says no more than its type, it is taken as it is. */
function keepWhole(members: Map<string, Member>, name: string, schema: StructuralSchema = {}): void {
  if (!Object.keys(schema).every((key) => key === "type" || key === "description")) return;
  const check = leafCheck(schema);
  members.set(name, { shape: () => (value) => (value !== null && check(value) ? value : refused), drops: never });
}

function dropped(schema: StructuralSchema): (value: Json) => boolean {
  const [list, map] = [schema.type === "array", typeof schema.additionalProperties === "object"];
  if (!list && !map) return never;
  return (value) => (Array.isArray(value) ? list && value.length === 0 : map && isObject(value) && isEmpty(value));
}

function isEmpty(object: object): boolean {
  for (const _name in object) return false;
  return true;
}

function shapeMembers(
  object: JsonObject,
  members: ReadonlyMap<string, Member>,
  others: Member | undefined,
): JsonObject | typeof refused {
  let result: JsonObject | undefined;
  let drops = false;
  for (const name of Object.keys(object)) {
    const member = members.get(name) ?? others;
    if (member === undefined || name === "__proto__") return refused;
    const value = object[name] as Json;
    if (member.drops(value)) {
      drops = true;
      continue;
    }
    const shaped = member.shape()(value);
    if (shaped === refused) return refused;
    if (shaped === value) continue;
    result ??= { ...object };
    result[name] = shaped;
  }
  return drops ? without(result ?? object, members, others) : (result ?? object);
}

/** Copied rather than deleted from: an object that lost a member is slow ever after. */
function without(object: JsonObject, members: ReadonlyMap<string, Member>, others: Member | undefined): JsonObject {
  const rest: JsonObject = {};
  for (const name of Object.keys(object)) {
    const value = object[name] as Json;
    if ((members.get(name) ?? others)?.drops(value) !== true) rest[name] = value;
  }
  return rest;
}

interface Default {
  readonly name: string;
  /** Shared by all objects that leave the member out: what is stored is never changed. */
  readonly value: Json;
  /** Whether the default itself is in order; one that is not is for others to name. */
  readonly valid: boolean;
}

function defaultsOf(schema: StructuralSchema): readonly Default[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    if (property.default === undefined) return [];
    const value = frozen(applyDefaults(property, structuredClone(property.default)));
    // A null that is not allowed is not filled in but dropped.
    const stays = value !== null || property.nullable === true;
    return [{ name, value, valid: stays && validateSchema(property, { value, path: "" }).length === 0 }];
  });
}

function frozen(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  Object.freeze(value);
  return value;
}

function complete(
  object: JsonObject,
  own: boolean,
  defaults: readonly Default[],
  needed: readonly string[],
): JsonObject | typeof refused {
  let result = own ? object : undefined;
  for (const { name, value, valid } of defaults) {
    if (Object.hasOwn(object, name)) continue;
    if (!valid) return refused;
    result ??= { ...object };
    result[name] = value;
  }
  for (const name of needed) if (!Object.hasOwn(result ?? object, name)) return refused;
  return result ?? object;
}

const freeKeys = new Set([
  "type",
  "properties",
  "additionalProperties",
  "items",
  "required",
  "default",
  "description",
  "nullable",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-validations",
]);

const composed = ["allOf", "anyOf", "oneOf", "not"] as const;

/** Whether a value, its parts apart, is what the schema says. */
function leafCheck(schema: StructuralSchema): (value: Json) => boolean {
  if (composed.some((key) => schema[key] !== undefined)) {
    return (value) => validateSchema(schema, { value, path: "" }).length === 0;
  }
  const { type, format } = schema;
  if (Object.keys(schema).every((key) => freeKeys.has(key))) {
    const check = plainChecks[type ?? ""];
    if (check !== undefined) return check;
  }
  const check = type === "integer" && isBounded(schema) ? integerChecks[format ?? ""] : undefined;
  if (check !== undefined) return check;
  const permitted = (value: Json): boolean => isPermitted(schema, value);
  return type === "string" ? onceForText(permitted) : permitted;
}

function isPermitted(schema: StructuralSchema, value: Json): boolean {
  const errors: FieldError[] = [];
  validateLeaf(schema, value, "", errors);
  return errors.length === 0;
}

/** By its format alone. */
const isBounded = (schema: StructuralSchema): boolean =>
  Object.keys(schema).every((key) => key === "format" || freeKeys.has(key));

/** A number of more digits than fit is none for this quick look. */
const integerChecks: { readonly [format: string]: ((value: Json) => boolean) | undefined } = {
  int32: (value) => value === ((value as number) | 0),
  int64: (value) => Number.isSafeInteger(value),
};

const plainChecks: { readonly [type: string]: ((value: Json) => boolean) | undefined } = {
  "": () => true,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === "number",
  object: isObject,
  array: (value) => Array.isArray(value),
};
