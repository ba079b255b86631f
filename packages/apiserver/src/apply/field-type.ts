import { isJsonObject } from "../api-object.ts";
import { type MergeSchema, wholeObjectSchema } from "./merge-schema.ts";

/** How a value can be divided between owners. A type with several forms uses the one that matches the value. */
export interface FieldType {
  readonly scalar?: ScalarType;
  readonly list?: ListType;
  readonly map?: MapType;
}

export type ScalarType = "string" | "numeric" | "boolean" | "untyped";

export interface ListType {
  /** The list has one owner and is replaced as a whole. */
  readonly atomic: boolean;
  /** The fields that identify an item; empty for a set, whose items identify themselves. */
  readonly keys: readonly string[];
  readonly item: FieldType;
  /** The value of a key field that an item omits. */
  keyDefault(key: string): unknown;
}

export interface MapType {
  readonly atomic: boolean;
  /** Whether the schema declares the member. Declared members are owned only through their content. */
  declares(name: string): boolean;
  /** The type of a member; `undefined` when the schema has no such member. */
  member(name: string): FieldType | undefined;
  /** Whether the schema does not describe any member. */
  readonly untyped: boolean;
}

const atomicUntyped: FieldType = {
  scalar: "untyped",
  list: {
    atomic: true,
    keys: [],
    get item(): FieldType {
      return atomicUntyped;
    },
    keyDefault: () => undefined,
  },
  map: { atomic: true, declares: () => false, member: () => atomicUntyped, untyped: true },
};

/** The type of values without a schema: objects are divided by member, lists are not divided. */
export const deducedType: FieldType = {
  scalar: "untyped",
  list: { atomic: true, keys: [], item: atomicUntyped, keyDefault: () => undefined },
  map: { atomic: false, declares: () => false, member: () => deducedType, untyped: true },
};

/** The type of the whole objects of a kind. Types of members and items are made when they are first used. */
export function objectType(schema: MergeSchema | undefined): FieldType {
  return schema === undefined ? deducedType : typeOf(wholeObjectSchema(schema), false);
}

/** `open`: an enclosing schema preserves unknown fields, which applies to everything inside it. */
function typeOf(given: MergeSchema, open: boolean): FieldType {
  const schema = given["x-kubernetes-embedded-resource"] === true ? wholeObjectSchema(given) : given;
  return makeType(schema, open || schema["x-kubernetes-preserve-unknown-fields"] === true);
}

function makeType(schema: MergeSchema, open: boolean): FieldType {
  switch (schema.type) {
    case "object":
      return { map: mapType(schema, open) };
    case "array":
      return { list: listType(schema, open) };
    case "integer":
    case "number":
      return { scalar: "numeric" };
    case "boolean":
      return { scalar: "boolean" };
    case "string":
      return { scalar: ["", "byte"].includes(schema.format ?? "") ? "string" : "untyped" };
    default:
      return { scalar: "untyped", list: listType(schema, open), map: mapType(schema, open) };
  }
}

function mapType(schema: MergeSchema, open: boolean): MapType {
  const properties = schema.properties ?? {};
  const others = otherMembers(schema, open);
  const known = new Map<string, FieldType>();
  return {
    atomic: schema["x-kubernetes-map-type"] === "atomic",
    declares: (name) => Object.hasOwn(properties, name),
    member: (name) => {
      const found = known.get(name);
      if (found !== undefined) return found;
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (property === undefined) return others();
      const type = typeOf(property, open);
      known.set(name, type);
      return type;
    },
    get untyped(): boolean {
      return Object.keys(properties).length === 0 && others()?.scalar === "untyped";
    },
  };
}

function otherMembers({ properties, additionalProperties }: MergeSchema, open: boolean): () => FieldType | undefined {
  if (typeof additionalProperties === "object") {
    let type: FieldType | undefined;
    return () => (type ??= typeOf(additionalProperties, open));
  }
  const free = additionalProperties ?? (open || Object.keys(properties ?? {}).length === 0);
  return () => (free ? deducedType : undefined);
}

function listType(schema: MergeSchema, open: boolean): ListType {
  const { items } = schema;
  let item = items === undefined ? atomicUntyped : undefined;
  return {
    ...division(schema),
    get item(): FieldType {
      return (item ??= typeOf(items as MergeSchema, open));
    },
    keyDefault: (key) => {
      const properties = items?.properties;
      return properties !== undefined && Object.hasOwn(properties, key) ? properties[key]?.default : undefined;
    },
  };
}

/** Kubernetes' older kinds have a patch strategy instead of a list type. */
function division(schema: MergeSchema): Pick<ListType, "atomic" | "keys"> {
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return { atomic: false, keys: [] };
    case "map":
      return { atomic: false, keys: schema["x-kubernetes-list-map-keys"] ?? [] };
    case undefined: {
      const key = schema["x-kubernetes-patch-merge-key"];
      const merges = schema["x-kubernetes-patch-strategy"]?.split(",").includes("merge") === true;
      return merges ? { atomic: false, keys: key === undefined ? [] : [key] } : { atomic: true, keys: [] };
    }
    default:
      return { atomic: true, keys: [] };
  }
}

/** The form of a type that a value has. Null matches every form; the first one is used. */
export type Form =
  | { readonly is: "map"; readonly map: MapType }
  | { readonly is: "scalar"; readonly scalar: ScalarType }
  | { readonly is: "list"; readonly list: ListType };

export function formOf({ scalar, list, map }: FieldType, value: unknown): Form {
  if (scalar !== undefined && isScalar(value)) return { is: "scalar", scalar };
  if (list !== undefined && Array.isArray(value)) return { is: "list", list };
  if (map !== undefined && isJsonObject(value)) return { is: "map", map };
  if (map !== undefined) return { is: "map", map };
  if (scalar !== undefined) return { is: "scalar", scalar };
  return { is: "list", list: list ?? (deducedType.list as ListType) };
}

const isScalar = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";
