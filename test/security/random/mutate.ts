import type { Random } from "../../../packages/apiserver/test/fuzz/random.ts";
import { favouriteFields } from "./favourite-fields.ts";
import { forgedOwner, hostileKey, hostileNumber, hostileText, type Prey } from "./hostile-values.ts";
import type { Schema, ServedKind } from "./served-kinds.ts";

type Value = unknown;
type Fields = Record<string, Value>;

/** What a walk through a schema needs at every step. */
interface Walk {
  readonly random: Random;
  readonly prey: Prey;
  readonly resolve: (schema: Schema) => Schema;
}

/** An object with one field changed, anywhere in it, to a value that its schema or almost its schema allows. */
export function mutate(random: Random, kind: ServedKind, object: Fields, prey: Prey): Fields {
  const { schema, resolve } = kind;
  const walk: Walk = { random, prey, resolve };
  if (random.chance(0.25)) return { ...object, metadata: mutateMetadata(walk, (object["metadata"] ?? {}) as Fields) };
  const favourites = favouriteFields[kind.plural] ?? [];
  if (favourites.length > 0 && random.chance(0.6))
    return changeAt(walk, schema, object, random.pick(favourites).split("."), "") as Fields;
  return change(walk, schema, object, "", 0) as Fields;
}

/** Labels, annotations, owners and finalizers are where trust is easily misplaced. */
function mutateMetadata({ random, prey }: Walk, metadata: Fields): Fields {
  const value = (): string => random.pick(random.pick([prey.uids, prey.names, prey.addresses, ["true", "[]", "{}"]]));
  const key = hostileKey(random, prey);
  const pair = { [key]: /uid|keep/.test(key) ? random.pick(prey.uids) : value() };
  switch (random.below(5)) {
    case 0: {
      // The value of a label is a name: another one would only be refused.
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

/** Changes the field that a path names; numbers in it are places in lists. What is missing on the way is made. */
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

/** Most often the fields that become an address, a path or a name somewhere. */
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
  // What is there already leads further into the object than what is not.
  const names = known.length > 0 && random.chance(0.6) ? known : interesting(random, Object.keys(properties));
  // The metadata of the object itself is changed elsewhere: most other names for it would only be refused.
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

/** A value made from its schema alone: a few fields, few levels deep. */
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
