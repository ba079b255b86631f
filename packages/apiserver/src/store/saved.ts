import type { ApiObject } from "../api-object.ts";
import { withSharedSpec } from "../shared-values.ts";
import { guarded } from "./guarded.ts";
import type { Stored } from "./store.ts";

type Labels = Readonly<Record<string, string>>;

const noLabels: Labels = {};

/**
 * An object as it was saved. What is kept is its JSON, which is what the journal, answers and watchers want; the object
 * itself takes more than twice the room, makes the garbage collector slow, and most are never looked at. It is there
 * while it is new, and is read from the JSON again for whoever asks later.
 */
export class Saved implements Stored {
  readonly revision: number;
  readonly key: string;
  readonly json: string;
  #object: ApiObject | undefined;
  #labels: Labels | undefined;

  constructor({ revision, key, json }: { readonly revision: number; readonly key: string; readonly json: string }) {
    this.revision = revision;
    this.key = key;
    this.json = json;
  }

  /** `object` must never change: its JSON could not follow. */
  static of(
    object: ApiObject,
    saved: { readonly revision: number; readonly key: string; readonly json: string },
  ): Saved {
    const made = new Saved(saved);
    made.#labels = object.metadata.labels ?? noLabels;
    made.#hold(guarded(object));
    return made;
  }

  get object(): ApiObject {
    return this.#object ?? this.#hold(guarded(withSharedSpec(JSON.parse(this.json) as ApiObject)));
  }

  /** Asked for by every selector, of every object: worth keeping once they are known. */
  get labels(): Labels {
    this.#labels ??= this.object.metadata.labels ?? noLabels;
    return this.#labels;
  }

  forget(): void {
    this.#object = undefined;
  }

  #hold(object: ApiObject): ApiObject {
    this.#object = object;
    remember(object, this);
    return object;
  }
}

const maxRecent = 4096;
/** In characters of JSON; what is larger than all of it together is not kept. */
const maxLength = 12 * 1024 * 1024;

/** What was written or read last. */
const recent = new Map<object, Saved>();
/**
 * The same by age, in a ring: a map would be asked for its oldest entry by looking past all those that it has lost, which
 * costs more than everything else here.
 */
const turns: ({ readonly object: ApiObject; readonly saved: Saved } | undefined)[] = [];
let oldest = 0;
let count = 0;
let length = 0;

function remember(object: ApiObject, saved: Saved): void {
  recent.set(object, saved);
  turns[(oldest + count) % maxRecent] = { object, saved };
  count += 1;
  length += saved.json.length;
  while (count === maxRecent || length > maxLength) forgetOldest();
}

function forgetOldest(): void {
  const turn = turns[oldest];
  turns[oldest] = undefined;
  oldest = (oldest + 1) % maxRecent;
  count -= 1;
  if (turn === undefined) return;
  const { object, saved } = turn;
  length -= saved.json.length;
  // It may have been saved once more since.
  if (recent.get(object) === saved) recent.delete(object);
  saved.forget();
}

/** The JSON of any value; as it was saved when it was saved a moment ago. */
export function jsonText(value: unknown): string {
  const known = typeof value === "object" && value !== null ? recent.get(value) : undefined;
  return known?.json ?? JSON.stringify(value);
}
