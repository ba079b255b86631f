import { applyDefaults } from "./defaults.ts";
import { isObject, type JsonObject } from "./json-value.ts";
import { isPermitted, leafCheck } from "./leaf-check.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { hasDuplicates } from "./validate-lists.ts";
import { validateSchema } from "./validate-schema.ts";

/** How built-in kinds or custom resources encode their values. */
export interface Dialect {
  /** Whether empty lists and maps are dropped. */
  readonly dropsEmpty: boolean;
  /** Whether sets and keyed lists with duplicate items are invalid. */
  readonly uniqueItems: boolean;
  /** Returns a function that writes values in their stored form (`undefined` for an invalid value), for schemas with such a form. */
  rewrite?(schema: StructuralSchema): ((value: Json) => Json | undefined) | undefined;
  /** Wraps the function that shapes a member of whole objects, such as `spec`, to reuse earlier results. */
  memoizePart?(shape: (part: Json) => Json | symbol): (part: Json) => Json | symbol;
}

const refused: unique symbol = Symbol("refused");
type Shape = (value: Json) => Json | typeof refused;

/**
 * Prunes, defaults and checks objects in one walk, by functions that are compiled from the schema once. Refuses every object
 * that has a problem, and everything unusual (unknown fields, nulls): `prune`, `applyDefaults` and `validate` handle those.
 */
export class QuickShaper {
  readonly #dialect: Dialect;
  readonly #shapes = new WeakMap<StructuralSchema, Shape>();
  readonly #roots = new WeakMap<StructuralSchema, Shape>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** The object in its stored form, or `undefined` if it is refused. Unchanged parts are shared with the argument. */
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
    const check = this.#check(schema);
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

  #check(schema: StructuralSchema): (value: Json) => boolean {
    const check = leafCheck(schema);
    const type = schema["x-kubernetes-list-type"];
    if (!this.#dialect.uniqueItems || (type !== "set" && type !== "map")) return check;
    return (value) => check(value) && !(Array.isArray(value) && hasDuplicates(schema, value));
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
    let shape: Shape | undefined;
    const make = (): Shape => (this.#dialect.memoizePart?.(member.shape()) as Shape | undefined) ?? member.shape();
    return { ...member, shape: () => (shape ??= make()) };
  }

  /** Compiles a schema when it is first used: schemas are large, and objects use few of their fields. */
  #later(schema: StructuralSchema): () => Shape {
    let shape: Shape | undefined;
    return () => (shape ??= this.#shape(schema));
  }
}

interface Member {
  shape(): Shape;
  /** Whether a value is dropped. */
  drops(value: Json): boolean;
}

const metaFields = ["apiVersion", "kind", "metadata"] as const;

const refuse: Shape = () => refused;
const keep: Shape = (value) => value;
const never = (): boolean => false;
const kept: Member = { shape: () => keep, drops: never };

/** Metadata is not pruned: if the schema says nothing but its type, it is kept as it is. */
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

/** A copy without the dropped members. `delete` would turn the object into a slow dictionary in V8. */
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
  /** Frozen, because all objects that omit the member share it. */
  readonly value: Json;
  /** Whether the default itself is valid. If not, the object is refused. */
  readonly valid: boolean;
}

function defaultsOf(schema: StructuralSchema): readonly Default[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    if (property.default === undefined) return [];
    const value = frozen(applyDefaults(property, structuredClone(property.default)));
    // `applyDefaults` drops a null that is not allowed.
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
