import type { Random } from "../../../packages/apiserver/test/fuzz/random.ts";
import { favouriteFields } from "./favourite-fields.ts";
import { forgedOwner, hostileKey, hostileNumber, hostileText, type Prey } from "./hostile-values.ts";
import type { Schema, ServedKind } from "./served-kinds.ts";

type Value = unknown;
type Fields = Record<string, Value>;

/** The arguments of every step of a walk through a schema. */
interface Walk {
  readonly random: Random;
  readonly prey: Prey;
  readonly resolve: (schema: Schema) => Schema;
}

/** A copy of an object with one field changed to a value that its schema allows, or nearly allows. */
export function mutate(random: Random, kind: ServedKind, object: Fields, prey: Prey): Fields {
  const { schema, resolve } = kind;
  const walk: Walk = { random, prey, resolve };
  if (random.chance(0.25)) return { ...object, metadata: mutateMetadata(walk, (object["metadata"] ?? {}) as Fields) };
  const favourites = favouriteFields[kind.plural] ?? [];
  if (favourites.length > 0 && random.chance(0.6))
    return changeAt(walk, schema, object, random.pick(favourites).split("."), "") as Fields;
  return change(walk, schema, object, "", 0) as Fields;
}

/** Changes labels, annotations, owner references or finalizers, which components might trust by mistake. */
function mutateMetadata({ random, prey }: Walk, metadata: Fields): Fields {
  const value = (): string => random.pick(random.pick([prey.uids, prey.names, prey.addresses, ["true", "[]", "{}"]]));
  const key = hostileKey(random, prey);
  const pair = { [key]: /uid|keep/.test(key) ? random.pick(prey.uids) : value() };
  switch (random.below(5)) {
    case 0: {
      // The API server refuses label values that are not names.
      const labels = {
        ...(metadata["labels"] as object),
        [key]: random.pick(random.chance(0.9) ? labelValues(prey) : [value()]),
      };
      return { ...metadata, labels };
    }
    case 1:
      return { ...metadata, annotations: { ...(metadata["annotations"] as object), ...pair } };
    case 2:
      return { ...metadata, ownerReferences: [forgedOwner(random, prey)] };
    case 3:
      return { ...metadata, finalizers: [hostileText(random, "finalizer", prey)] };
    default:
      return {
        ...metadata,
        [random.pick(["uid", "namespace", "generateName", "selfLink", "creationTimestamp", "deletionTimestamp"])]:
          value(),
      };
  }
}

const labelValues = (prey: Prey): readonly string[] =>
  [...prey.uids, ...prey.names, ...prey.addresses, "true"].filter((each) =>
    /^[a-z0-9][\w.-]{0,61}[a-z0-9]$/.test(each),
  );

/** Changes the field at a path. Numbers in the path are indexes of lists. Missing parents are created. */
function changeAt(walk: Walk, schema: Schema, value: Value, path: readonly string[], field: string): Value {
  const own = walk.resolve(schema);
  const [head, ...rest] = path;
  if (head === undefined) return generate(walk, own, field, deepest - 6);
  if (own.items !== undefined) {
    const items = Array.isArray(value) && value.length > 0 ? (value as Value[]) : [{}];
    const place = Math.min(Number(head), items.length - 1);
    return items.map((each, index) => (index === place ? changeAt(walk, own.items ?? {}, each, rest, field) : each));
  }
  const fields = (value ?? {}) as Fields;
  return { ...fields, [head]: changeAt(walk, own.properties?.[head] ?? {}, fields[head], rest, head) };
}

const deepest = 12;
const reaching =
  /ip|address|host|cidr|except|port|path|name|uid|ref|class|selector|owner|key|volume|claim|image|account/i;

/** Half of the time only the fields that become an address, a path or a name. */
function interesting(random: Random, names: readonly string[]): readonly string[] {
  const chosen = random.chance(0.5) ? names.filter((name) => reaching.test(name)) : [];
  return chosen.length > 0 ? chosen : names;
}

function change(walk: Walk, schema: Schema, value: Value, field: string, depth: number): Value {
  const { random, resolve } = walk;
  const own = resolve(schema);
  const isEnd = depth > deepest || (depth > 1 && random.chance(0.08));
  if (own.properties !== undefined && !isEnd) return changeField(walk, own.properties, (value ?? {}) as Fields, depth);
  if (own.items !== undefined && !isEnd)
    return changeItem(walk, own.items, Array.isArray(value) ? value : [], field, depth);
  if (typeof own.additionalProperties === "object" && !isEnd) {
    const key = random.pick([
      ...Object.keys((value ?? {}) as Fields),
      hostileKey(random, walk.prey),
      random.pick(walk.prey.names),
    ]);
    return { ...(value as Fields), [key]: generate(walk, own.additionalProperties, field, depth + 1) };
  }
  return random.chance(0.03) ? random.pick([null, [], {}, -1, "x", true]) : generate(walk, own, field, depth);
}

function changeField(walk: Walk, properties: Readonly<Record<string, Schema>>, value: Fields, depth: number): Fields {
  const { random } = walk;
  const known = Object.keys(value).filter((name) => name in properties);
  // Fields that exist lead deeper into the object than new ones.
  const names = known.length > 0 && random.chance(0.6) ? known : interesting(random, Object.keys(properties));
  // The object's own metadata is changed elsewhere, because the API server refuses most values for it.
  const name = random.pick(names.filter((each) => !["apiVersion", "kind", "metadata"].includes(each) || depth > 0));
  if (name === undefined) return value;
  if (depth > 0 && random.chance(0.04))
    return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name));
  return { ...value, [name]: change(walk, properties[name] ?? {}, value[name], name, depth + 1) };
}

function changeItem(walk: Walk, items: Schema, value: readonly Value[], field: string, depth: number): Value[] {
  const { random } = walk;
  const place = random.below(value.length + 1);
  if (place === value.length) return [...value, generate(walk, items, field, depth + 1)];
  if (random.chance(0.1)) return [...value, value[place]];
  return value.map((each, index) => (index === place ? change(walk, items, each, field, depth + 1) : each));
}

/** A new value by its schema, with a few fields and levels. */
function generate(walk: Walk, schema: Schema, field: string, depth: number): Value {
  const { random, prey, resolve } = walk;
  const own = resolve(schema);
  if (own.enum !== undefined && random.chance(0.9)) return random.pick(own.enum);
  if (own["x-kubernetes-int-or-string"] === true || own.format === "int-or-string")
    return random.chance(0.5) ? hostileNumber(random, field) : hostileText(random, field, prey);
  if (own.properties !== undefined) {
    const share = depth > 6 ? 0.08 : 0.3;
    const names = Object.keys(own.properties).filter(
      (name) => (own.required?.includes(name) && random.chance(0.97)) || random.chance(share),
    );
    return Object.fromEntries(
      names.map((name) => [name, generate(walk, own.properties?.[name] ?? {}, name, depth + 2)]),
    );
  }
  if (own.items !== undefined)
    return depth > deepest
      ? []
      : random.times(1 + random.few(2), () => generate(walk, own.items ?? {}, field, depth + 2));
  if (typeof own.additionalProperties === "object")
    return { [hostileKey(random, prey)]: generate(walk, own.additionalProperties, field, depth + 2) };
  if (own.type === "integer" || own.type === "number") return hostileNumber(random, field);
  if (own.type === "boolean") return random.chance(0.5);
  return own.type === "object" ? {} : hostileText(random, field, prey);
}
