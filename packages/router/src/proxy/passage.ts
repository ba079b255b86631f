import type { Target } from "../cluster/target.ts";
import type { Deadlines, Timed } from "../deadlines.ts";
import type { UpstreamConnection } from "../http1/upstream-connection.ts";
import type { Observer } from "../observe/observer.ts";
import type { Visit } from "../observe/visit.ts";
import { RouterError } from "../router-error.ts";
import type { FrontDoor, Guest } from "./front-door.ts";
import type { Incoming } from "./incoming.ts";
import { Misdirected } from "./misdirected.ts";
import { Relay, type RelayWatcher } from "./relay.ts";
import { requestTimeoutMs, timedOut } from "./request-timeout.ts";
import type { UpstreamPool } from "./upstream-pool.ts";
import { WatchedBody } from "./watched-body.ts";

export interface PassageOptions {
  readonly door: FrontDoor;
  readonly pool: UpstreamPool;
  readonly observer: Observer;
  readonly deadlines: Deadlines;
  /** How long a request may stand still. */
  readonly timeoutMs: number;
  /** 0: any. */
  readonly maxBodyBytes: number;
}

/** Told once, when the answer has been handed over or what stands in its way is known. */
export type PassageEnd = (incoming: Incoming, visit: Visit, error: unknown) => void;

/**
 * One request on its way, from its admission to the end of its answer. Nearly always the sandbox is ready and a connection
 * to it is free: then nothing is waited for, and no promise is made.
 */
export class Passage implements Timed, RelayWatcher {
  deadlineMs: number;
  readonly #options: PassageOptions;
  readonly #guest: Guest;
  readonly #incoming: Incoming;
  readonly #visit: Visit;
  readonly #onEnd: PassageEnd;
  readonly #limitMs: number;
  #target: Target | undefined;
  #connection: UpstreamConnection | undefined;
  #use: Disposable | undefined;
  #guard: Disposable | undefined;
  #isRepeated = false;
  #isDone = false;

  constructor(
    options: PassageOptions,
    guest: Guest,
    { incoming, visit, onEnd }: { incoming: Incoming; visit: Visit; onEnd: PassageEnd },
  ) {
    this.#options = options;
    this.#guest = guest;
    this.#incoming = incoming;
    this.#visit = visit;
    this.#onEnd = onEnd;
    this.#limitMs = requestTimeoutMs(guest.reading.head.timeout, options.timeoutMs);
    this.deadlineMs = options.deadlines.after(this.#limitMs);
  }

  start(): void {
    const { door, pool, deadlines, maxBodyBytes } = this.#options;
    try {
      refuseLongBody(this.#guest.reading.head.contentLength, maxBodyBytes);
      deadlines.watch(this);
      this.#guard = door.guard(this.#guest, this.#incoming.cancellation);
      const target = door.ready(this.#guest);
      const connection = target && pool.take(target);
      if (target === undefined || connection === undefined) void this.#wait();
      else this.#reached(target, connection);
    } catch (error) {
      this.onDone(error);
    }
  }

  onDeadline(): void {
    this.#incoming.cancellation.cancel(timedOut(this.#guest.route.name));
  }

  onHead(status: number): void {
    if (this.#target !== undefined) this.#options.door.answered(this.#target, status);
    this.#visit.status = status;
  }

  onBytes(count: number): void {
    this.#visit.bytesOut += count;
    this.onProgress();
  }

  onProgress(): void {
    this.deadlineMs = this.#options.deadlines.after(this.#limitMs);
  }

  onDone(error: unknown): void {
    if (this.#isDone || this.#repeats(error)) return;
    this.#isDone = true;
    this.#options.deadlines.forget(this);
    this.#guard?.[Symbol.dispose]();
    this.#use?.[Symbol.dispose]();
    if (error !== undefined) this.#connection?.destroy();
    this.#guest[Symbol.dispose]();
    this.#onEnd(this.#incoming, this.#visit, error);
  }

  /** A runtime that is another's has done nothing: what has no body is sent once more, to where the sandbox is now. */
  #repeats(error: unknown): boolean {
    if (!(error instanceof Misdirected)) return false;
    this.#options.pool.discard(error.target);
    if (this.#isRepeated || this.#incoming.body !== undefined) return false;
    this.#isRepeated = true;
    this.#use?.[Symbol.dispose]();
    this.#use = undefined;
    void this.#wait();
    return true;
  }

  async #wait(): Promise<void> {
    const { door, pool } = this.#options;
    const { cancellation } = this.#incoming;
    const free = (target: Target) => (this.#isRepeated ? undefined : pool.take(target));
    const open = (target: Target) => free(target) ?? pool.open(target, cancellation.signal);
    try {
      const { target, connection } = await door.connect(this.#guest, this.#visit, { cancellation, open });
      this.#reached(target, connection);
    } catch (error) {
      this.onDone(error);
    }
  }

  #reached(target: Target, connection: UpstreamConnection): void {
    const { door } = this.#options;
    this.#target = target;
    this.#connection = connection;
    this.#use = door.using(target);
    this.#incoming.answer.assign(target.namespace);
    const made = door.headersFor(this.#guest.reading, target, this.#visit.requestId);
    if (!(made instanceof Promise)) return this.#send(connection, made);
    made.then((headers) => this.#send(connection, headers)).catch((error: unknown) => this.onDone(error));
  }

  #send(connection: UpstreamConnection, made: string[]): void {
    const { observer, maxBodyBytes: maxBytes } = this.#options;
    const { method, answer, cancellation, body } = this.#incoming;
    const { reading, route } = this.#guest;
    const headers = observer.trace(this.#visit, made);
    const relay = new Relay(connection, { answer, cancellation, route }, this);
    relay.run({
      method,
      path: route.target,
      headers,
      body: body && new WatchedBody(body, { maxBytes, onProgress: () => this.onProgress() }),
      isEmpty: reading.head.contentLength !== undefined,
    });
  }
}

function refuseLongBody(contentLength: string | undefined, maxBytes: number): void {
  if (maxBytes === 0 || contentLength === undefined || Number(contentLength) <= maxBytes) return;
  throw new RouterError("BodyTooLarge", "The request body is too large.");
}
