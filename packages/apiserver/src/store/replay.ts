import { History } from "./history.ts";
import type { JournalRow, LoadedJournal } from "./journal.ts";
import { Objects } from "./objects.ts";
import { Saved } from "./saved.ts";
import type { Stored } from "./store.ts";

export interface Replayed {
  readonly objects: Map<string, Objects>;
  readonly histories: Map<string, History>;
  readonly revision: number;
  /** The revision up to which nothing is known of any resource: that of a restored store. */
  readonly floor: number;
}

/** The name under which a journal keeps the floor of all resources. */
export const everything = "";

/** Builds the state of a store by going through its journal once. */
export function replay({ rows, floors }: LoadedJournal): Replayed {
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
    const stored = decode(row);
    if (stored === undefined) current.delete(key);
    else current.set(key, stored);
    if (row.revision > history.floor) history.append({ revision: row.revision, atMs, key, stored, previous });
    revision = row.revision;
  }
  return { objects: sorted(objects), histories, revision: Math.max(revision, ...floors.values()), floor };
}

/** Keys are put in order once, at the end: a place for each as it comes would be looked for a thousand times over. */
function sorted(objects: ReadonlyMap<string, Map<string, Stored>>): Map<string, Objects> {
  return new Map([...objects].map(([resource, byKey]) => [resource, new Objects(byKey)]));
}

/** What JSON never has, and lost pages are full of. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
// oxlint-disable-next-line no-control-regex
const control = /[\0-\x1f]/;

function decode({ object, revision, resource, key }: JournalRow): Stored | undefined {
  if (object === undefined) return undefined;
  // A start must not wait for every object to be read: a look at the text finds what a torn file leaves behind.
  if (object.startsWith('{"') && object.endsWith("}") && !control.test(object))
    return new Saved({ revision, key, json: object });
  throw new Error(`Cannot read ${resource} "${key}" at revision ${revision}: the saved text is damaged`);
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
