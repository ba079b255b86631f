import { expired } from "../api-error.ts";
import { type ApiObject, withMetadata } from "../api-object.ts";
import type { ServedEvent } from "../request/api-request.ts";
import type { Query } from "../request/query.ts";
import type { Target } from "../request/target.ts";
import { toVersion } from "../resources/versions.ts";
import type { Change, Store, Stored } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { parseRevision, tooNew } from "./list.ts";
import { type ListOptions, parseListOptions } from "./list-options.ts";
import { parseSelection, type Selection } from "./selection.ts";
import { Waker } from "./waker.ts";

/** Events in a batch. Bounds the memory held for a slow consumer. */
const batchSize = 250;
/** kube-apiserver ends watches without a timeout after a random time of 30 to 60 minutes. */
const defaultTimeoutSeconds = 45 * 60;
/** How long a client may take to read the initial events, which stay in memory until then even if the objects change. */
const initialMs = 60_000;
/** The longest timer that Node supports, about 24 days. */
const maxTimeoutSeconds = 2 ** 31 / 1000 - 1;

const initialEventsEnd = { "k8s.io/initial-events-end": "true" };

/** Opens a watch. Throws if the request is invalid, before the first event. */
export function watch(
  context: ApiContext,
  target: Target,
  query: Query,
  signal?: AbortSignal,
): AsyncIterable<readonly ServedEvent[]> {
  const session = new WatchSession(context, target, query);
  return session.run(signal);
}

class WatchSession {
  readonly #context: ApiContext;
  readonly #store: Store;
  readonly #target: Target;
  readonly #selection: Selection;
  readonly #bookmarks: boolean;
  readonly #timeoutMs: number;
  readonly #prefix: string;
  readonly #initial: readonly Stored[];
  readonly #initialBookmark: boolean;
  readonly #startRevision: number;
  #position: number;

  constructor(context: ApiContext, target: Target, query: Query) {
    this.#context = context;
    this.#store = context.store;
    this.#target = target;
    this.#selection = parseSelection(query, target.definition);
    this.#bookmarks = query.flag("allowWatchBookmarks");
    const options = parseListOptions(query, "watch");
    const seconds = options.timeoutSeconds || defaultTimeoutSeconds;
    this.#timeoutMs = Math.min(seconds, maxTimeoutSeconds) * 1000;
    this.#prefix = target.namespace === undefined ? "" : `${target.namespace}/`;
    const start = startOf(options, this.#bookmarks);
    if (start.revision > this.#store.revision) throw tooNew(start.revision, this.#store.revision);
    this.#initialBookmark = start.endBookmark;
    // Without a revision and without initial events, the watch starts with the next change.
    this.#startRevision = start.revision === 0 || start.initial ? this.#store.revision : start.revision;
    const position = this.#store.position(target.definition.id, this.#startRevision);
    if (position === undefined) throw expired(`too old resource version: ${start.revision} (${this.#store.revision})`);
    this.#position = position;
    const current = start.initial ? [...this.#store.list(target.definition.id, this.#prefix)] : [];
    this.#initial = current.filter((stored) => this.#selection.matches(stored));
  }

  async *run(signal: AbortSignal | undefined): AsyncGenerator<readonly ServedEvent[]> {
    using waker = new Waker(this.#store, this.#target.definition.id, [this.#context.closing, signal]);
    using open = this.#context.metrics.watch(this.#target);
    waker.at("deadline", this.#timeoutMs);
    const initialUntil = performance.now() + initialMs;
    for (const events of this.#initialEvents()) {
      if (performance.now() > initialUntil) {
        yield [this.#fellBehind()];
        return;
      }
      open.sent(events.length);
      yield events;
    }
    while (!waker.ended) {
      const chunk = this.#store.read(this.#target.definition.id, this.#position, batchSize);
      if (chunk === undefined) {
        yield [this.#fellBehind()];
        return;
      }
      this.#position = chunk.next;
      const events = chunk.changes.flatMap((change) => this.#eventOf(change) ?? []);
      open.sent(events.length);
      if (events.length > 0) yield events;
      if (chunk.changes.length > 0) continue;
      if (this.#bookmarks) waker.at("bookmark", this.#context.bookmarkMs);
      // Read before the wait: after it, the store's revision may include changes that this watch has not sent.
      const reached = this.#store.revision;
      const reason = await waker.wait();
      if (reason !== "bookmark") continue;
      open.sent(1);
      yield [this.#bookmark(reached)];
    }
  }

  *#initialEvents(): Generator<readonly ServedEvent[]> {
    for (let at = 0; at < this.#initial.length; at += batchSize) {
      yield this.#initial.slice(at, at + batchSize).map((stored) => this.#event("ADDED", stored));
    }
    if (this.#initialBookmark) yield [this.#bookmark(this.#startRevision, initialEventsEnd)];
  }

  /** For a watch with a selector, an object that starts to match is ADDED, and one that stops to match is DELETED. */
  #eventOf(change: Change): ServedEvent | undefined {
    if (!change.key.startsWith(this.#prefix)) return undefined;
    const before = change.previous !== undefined && this.#selection.matches(change.previous);
    const after = change.stored !== undefined && this.#selection.matches(change.stored);
    if (after) return this.#event(before ? "MODIFIED" : "ADDED", change.stored);
    if (!before) return undefined;
    const last = withMetadata(change.previous.object, { resourceVersion: String(change.revision) });
    return { type: "DELETED", object: this.#shown(last) };
  }

  #event(type: ServedEvent["type"], { object, json }: Stored): ServedEvent {
    const shown = this.#shown(object);
    return { type, object: shown, json: shown === object ? json : undefined };
  }

  #shown(object: ApiObject): ApiObject {
    return toVersion(this.#target.definition, object, this.#target.version);
  }

  #bookmark(revision: number, annotations?: Record<string, string>): ServedEvent {
    const { version, definition } = this.#target;
    const metadata = { resourceVersion: String(revision), ...(annotations === undefined ? {} : { annotations }) };
    return { type: "BOOKMARK", object: { apiVersion: version.apiVersion, kind: definition.kind, metadata } };
  }

  #fellBehind(): ServedEvent {
    const error = expired("the watch fell behind the history the server keeps; list again");
    return { type: "ERROR", object: error.toStatus() };
  }
}

interface Start {
  readonly revision: number;
  /** Whether the current objects are sent before changes. */
  readonly initial: boolean;
  readonly endBookmark: boolean;
}

/** A watch without a revision, or from revision 0, starts with the current objects and a bookmark after them. */
function startOf({ resourceVersion, sendInitialEvents }: ListOptions, bookmarks: boolean): Start {
  const revision = parseRevision(resourceVersion);
  const initial = sendInitialEvents ?? revision === 0;
  return { revision, initial, endBookmark: initial && bookmarks };
}
