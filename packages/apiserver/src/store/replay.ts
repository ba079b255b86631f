import { History } from "./history.ts";
import type { JournalRow, LoadedJournal } from "./journal.ts";
import { ObjectCache } from "./object-cache.ts";
import { Objects } from "./objects.ts";
import { Saved } from "./saved.ts";
import type { Stored } from "./store.ts";

export interface Replayed {
  readonly objects: Map<string, Objects>;
  readonly histories: Map<string, History>;
  readonly cache: ObjectCache;
  readonly revision: number;
  /** The revision up to which the history of all resources is gone, as after a restore. */
  readonly floor: number;
}

/** The resource name under which a journal keeps the floor of all resources. */
export const everything = "";

/** Builds the state of a store from its journal. */
export function replay({ rows, floors }: LoadedJournal, cache: ObjectCache = new ObjectCache()): Replayed {
  const objects = new Map<string, Map<string, Stored>>();
  const { [everything]: floor = 0, ...own } = Object.fromEntries(floors);
  const histories = new Map(
    Object.entries(own).map(([resource, own]) => [resource, new History(Math.max(own, floor))]),
  );
  let revision = 0;
  for (const row of rows) {
    const { resource, key, atMs } = row;
    const current = getOrAdd(objects, resource, () => new Map<string, Stored>());
    const history = getOrAdd(histories, resource, () => new History(floor));
    const previous = current.get(key);
    const stored = decode(row, cache);
    if (stored === undefined) current.delete(key);
    else current.set(key, stored);
    if (row.revision > history.floor) history.append({ revision: row.revision, atMs, key, stored, previous });
    revision = row.revision;
  }
  return { objects: sorted(objects), histories, cache, revision: Math.max(revision, ...floors.values()), floor };
}

/** Sorts the keys once, at the end. This is faster than keeping them sorted while they are read. */
function sorted(objects: ReadonlyMap<string, Map<string, Stored>>): Map<string, Objects> {
  return new Map([...objects].map(([resource, byKey]) => [resource, new Objects(byKey)]));
}

/** Control characters, which JSON text never contains and lost pages are full of. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
// oxlint-disable-next-line no-control-regex
const control = /[\0-\x1f]/;

function decode({ object, revision, resource, key }: JournalRow, cache: ObjectCache): Stored | undefined {
  if (object === undefined) return undefined;
  // Parsing every object would slow the start down. This check finds what a torn file leaves behind.
  if (object.startsWith('{"') && object.endsWith("}") && !control.test(object))
    return new Saved(cache, { revision, key, json: object });
  throw new Error(`Cannot read ${resource} "${key}" at revision ${revision}: the saved text is damaged`);
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
