import type { Socket } from "node:net";
import { Client, type Dispatcher } from "undici";
import { type Target, targetKey } from "../cluster/target.ts";

export interface UpstreamPoolOptions {
  readonly dial: (target: Target, signal?: AbortSignal) => Promise<Socket>;
  /** Unused connections kept for one port of a pod. */
  readonly idlePerTarget: number;
  readonly idleInAll: number;
  readonly maxHeaderBytes: number;
}

/** A connection for one request at a time. */
export interface Upstream {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /**
   * Gives it back when the request was sent whole and the answer is whole. Not from within the handler: the client closes
   * what the answer asked to be closed only after it has told of the answer's end.
   */
  release(): void;
  /** Closes it: nobody knows what is still to come. */
  destroy(): Promise<void>;
}

/** Servers without a hint of their own often close after five seconds: leave before they do. */
const idleMs = 4000;

/** Connections to pods, kept for reuse. They are found by the pod's UID: one that has the address after it finds none. */
export class UpstreamPool implements AsyncDisposable {
  readonly #options: UpstreamPoolOptions;
  readonly #idle = new Map<string, Connection[]>();
  readonly #byPod = new Map<string, Set<Connection>>();
  #idleCount = 0;
  #closed = false;

  constructor(options: UpstreamPoolOptions) {
    this.#options = options;
  }

  get size(): number {
    let size = 0;
    for (const connections of this.#byPod.values()) size += connections.size;
    return size;
  }

  /** A connection that was free. */
  take(target: Target): Upstream | undefined {
    const key = targetKey(target);
    const free = this.#idle.get(key);
    for (let next = free?.pop(); next !== undefined; next = free?.pop()) {
      this.#idleCount -= 1;
      if (free?.length === 0) this.#idle.delete(key);
      if (next.isOpen) return next;
      void next.destroy();
    }
    return undefined;
  }

  /** A new connection. Throws a `DialError`, after which nothing has been sent. */
  async open(target: Target, signal?: AbortSignal): Promise<Upstream> {
    const socket = await this.#options.dial(target, signal);
    const connection = new Connection(socket, target, {
      maxHeaderBytes: this.#options.maxHeaderBytes,
      onFree: (freed) => this.#free(freed),
      onClosed: (closed) => this.#forget(closed),
    });
    const siblings = this.#byPod.get(target.podUid) ?? new Set();
    this.#byPod.set(target.podUid, siblings.add(connection));
    return connection;
  }

  /** The pod is gone: nothing that was said to it will be answered. */
  drop(podUid: string): void {
    for (const connection of this.#byPod.get(podUid) ?? []) void connection.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all(
      Array.from(this.#byPod.values(), (set) => [...set].map((connection) => connection.destroy())).flat(),
    );
  }

  #free(connection: Connection): void {
    const free = this.#idle.get(connection.key) ?? [];
    const hasRoom = free.length < this.#options.idlePerTarget && this.#idleCount < this.#options.idleInAll;
    if (this.#closed || !hasRoom) {
      void connection.destroy();
      return;
    }
    free.push(connection);
    this.#idle.set(connection.key, free);
    this.#idleCount += 1;
  }

  #forget(connection: Connection): void {
    const siblings = this.#byPod.get(connection.podUid);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.#byPod.delete(connection.podUid);
    const free = this.#idle.get(connection.key);
    const place = free?.indexOf(connection) ?? -1;
    if (free === undefined || place < 0) return;
    free.splice(place, 1);
    this.#idleCount -= 1;
    if (free.length === 0) this.#idle.delete(connection.key);
  }
}

interface ConnectionOptions {
  readonly maxHeaderBytes: number;
  readonly onFree: (connection: Connection) => void;
  readonly onClosed: (connection: Connection) => void;
}

/** An undici client over exactly one socket, which somebody else opened. */
class Connection implements Upstream {
  readonly key: string;
  readonly podUid: string;
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  /** Until the client takes it over, with the first request. */
  #unused: Socket | undefined;
  #isOpen = true;

  constructor(socket: Socket, target: Target, options: ConnectionOptions) {
    this.key = targetKey(target);
    this.podUid = target.podUid;
    this.#options = options;
    this.#socket = socket;
    this.#unused = socket;
    const host = target.ip.includes(":") ? `[${target.ip}]` : target.ip;
    this.#client = new Client(`http://${host}:${target.port}`, {
      pipelining: 1,
      keepAliveTimeout: idleMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: options.maxHeaderBytes,
      connect: (_, callback) => {
        const [taken, error] = [
          this.#unused,
          new Error("Cannot connect again: whoever has the address now may be another"),
        ];
        this.#unused = undefined;
        // The client is not ready for an answer before this call has returned.
        queueMicrotask(() => (taken === undefined ? callback(error, null) : callback(null, taken)));
      },
    });
    this.#client.once("disconnect", () => void this.destroy());
    this.#client.once("connectionError", () => void this.destroy());
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#socket.destroyed && this.#socket.readable;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  release(): void {
    if (this.isOpen) this.#options.onFree(this);
    else void this.destroy();
  }

  async destroy(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#options.onClosed(this);
    this.#unused?.destroy();
    await this.#client.destroy();
  }
}
