import { randomBytes } from "node:crypto";
import { RpcError } from "../../connect/rpc-error.ts";
import type { Target } from "../../runtime/runtime.ts";
import { asRpcError } from "./rpc-failure.ts";
import type { FilesystemEvent, WatchMessage } from "./watch-events.ts";

interface Watcher {
  readonly uid: string;
  readonly namespace: string;
  readonly stopping: AbortController;
  events: FilesystemEvent[];
  bytes: number;
  failure: RpcError | undefined;
  idle: NodeJS.Timeout;
}

const maxEvents = 4096;
/** Of one watcher. Names and links of files come from the sandbox. */
const maxBytes = 1024 * 1024;
const maxPerSandbox = 16;
/** One namespace cannot use up what is there for all. */
const maxPerNamespace = 200;
const maxWatchers = 1000;
/** A client polls several times a minute. One that ended without removing its watcher does not keep it. */
const idleMs = 10 * 60_000;

/** Watchers of clients that poll. They are lost when this server restarts; the client then gets `not_found`. */
export class PolledWatchers implements Disposable {
  readonly #watchers = new Map<string, Watcher>();

  /** Resolves when the directory is watched. */
  async create(target: Target, open: (signal: AbortSignal) => AsyncIterable<WatchMessage>): Promise<string> {
    const { uid, namespace } = target;
    const others = [...this.#watchers.values()].filter((one) => one.namespace === namespace);
    const own = others.filter((one) => one.uid === uid);
    if (own.length >= maxPerSandbox || others.length >= maxPerNamespace || this.#watchers.size >= maxWatchers) {
      throw new RpcError("resource_exhausted", "too many watchers: remove one");
    }
    const id = randomBytes(12).toString("hex");
    const stopping = new AbortController();
    const idle = setTimeout(() => this.#stop(id), idleMs).unref();
    const watcher: Watcher = { uid, namespace, stopping, events: [], bytes: 0, failure: undefined, idle };
    this.#watchers.set(id, watcher);
    const begun = Promise.withResolvers<void>();
    this.#collect(watcher, open(stopping.signal), begun.resolve).catch((error: unknown) => {
      watcher.failure ??= asRpcError(error);
      begun.reject(error);
    });
    try {
      await begun.promise;
    } catch (error) {
      this.#stop(id);
      throw error;
    }
    return id;
  }

  /** The events since the last call. An error is thrown once, then events continue if they can. */
  take(target: Target, id: string): readonly FilesystemEvent[] {
    const watcher = this.#find(target, id);
    watcher.idle.refresh();
    const { failure, events } = watcher;
    watcher.failure = undefined;
    watcher.events = [];
    watcher.bytes = 0;
    if (failure !== undefined) throw failure;
    return events;
  }

  remove(target: Target, id: string): void {
    this.#find(target, id);
    this.#stop(id);
  }

  [Symbol.dispose](): void {
    for (const id of this.#watchers.keys()) this.#stop(id);
  }

  /** The watchers of other sandboxes do not exist for a caller. */
  #find(target: Target, id: string): Watcher {
    const watcher = this.#watchers.get(id);
    if (watcher?.uid !== target.uid) throw new RpcError("not_found", `watcher ${id.slice(0, 64)} not found`);
    return watcher;
  }

  async #collect(watcher: Watcher, messages: AsyncIterable<WatchMessage>, begun: () => void): Promise<void> {
    for await (const message of messages) {
      if ("start" in message) begun();
      else keep(watcher, message.filesystem);
    }
  }

  #stop(id: string): void {
    const watcher = this.#watchers.get(id);
    this.#watchers.delete(id);
    clearTimeout(watcher?.idle);
    watcher?.stopping.abort();
  }
}

function keep(watcher: Watcher, event: FilesystemEvent): void {
  watcher.bytes += JSON.stringify(event).length;
  if (watcher.events.length < maxEvents && watcher.bytes <= maxBytes) {
    watcher.events.push(event);
    return;
  }
  watcher.events = [];
  watcher.bytes = 0;
  watcher.failure = new RpcError("internal", `more than ${maxEvents} events were not fetched and are lost`);
}
