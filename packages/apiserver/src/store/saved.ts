import type { ApiObject } from "../api-object.ts";
import type { ObjectCache } from "./object-cache.ts";
import type { Stored } from "./store.ts";

type Labels = Readonly<Record<string, string>>;

const noLabels: Labels = {};

export interface SavedObject {
  readonly revision: number;
  readonly key: string;
  readonly json: string;
}

/**
 * One revision of an object. Keeps its JSON, which the journal, replies and watches use. The parsed object is kept while
 * the cache has room for it; after that, it is parsed again when it is read.
 */
export class Saved implements Stored {
  readonly revision: number;
  readonly key: string;
  readonly json: string;
  readonly #cache: ObjectCache;
  #object: ApiObject | undefined;
  #labels: Labels | undefined;

  /** `object` is the parsed JSON, if the caller has it. It must never change. */
  constructor(cache: ObjectCache, { revision, key, json }: SavedObject, object?: ApiObject) {
    this.#cache = cache;
    this.revision = revision;
    this.key = key;
    this.json = json;
    if (object === undefined) return;
    this.#labels = object.metadata.labels ?? noLabels;
    this.#keep(cache.interner.protect(object));
  }

  get object(): ApiObject {
    return this.#object ?? this.#keep(this.#cache.parse(this.json));
  }

  /** Kept when the object is released, because every selector reads the labels of every object. */
  get labels(): Labels {
    this.#labels ??= this.object.metadata.labels ?? noLabels;
    return this.#labels;
  }

  release(): void {
    this.#object = undefined;
  }

  #keep(object: ApiObject): ApiObject {
    this.#object = object;
    this.#cache.add(this);
    return object;
  }
}
