/**
 * Follows the log of a container, over lost connections: `new LogFollower(…).start()`. Subscribers are called at most once per frame.
 */
import { Frame } from "../../data/frames.ts";
import { pathOf, pods } from "../../data/resources.ts";
import type { Streams } from "../../data/streams.ts";
import { LogBuffer, type LogLine } from "./log-buffer.ts";

export interface LogSource {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** The run before the last restart. It is not followed. */
  readonly isPrevious: boolean;
}

export interface LogState {
  readonly lines: readonly LogLine[];
  readonly dropped: number;
  readonly state: "loading" | "live" | "ended" | "stale" | "refused";
  readonly problem?: string | undefined;
}

const firstLines = 5000;
const retryMs = 2000;

export class LogFollower {
  readonly #streams: Streams;
  readonly #source: LogSource;
  readonly #buffer = new LogBuffer();
  readonly #listeners = new Set<() => void>();
  readonly #frame = new Frame(() => this.#publish());
  #snapshot: LogState = { lines: [], dropped: 0, state: "loading" };
  #state: Pick<LogState, "state" | "problem"> = { state: "loading" };
  #close: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(streams: Streams, source: LogSource) {
    [this.#streams, this.#source] = [streams, source];
  }

  /** Returns a function that stops it. */
  start(): () => void {
    this.#open();
    return () => {
      this.#close?.();
      clearTimeout(this.#timer);
      this.#frame.cancel();
    };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): LogState => this.#snapshot;

  #open(): void {
    let status = 0;
    let refusal = "";
    this.#close = this.#streams.open(this.#path(), {
      onStatus: (code) => {
        status = code;
        if (code < 400) this.#enter({ state: "live" });
      },
      onText: (text) => {
        if (status >= 400) refusal += text.slice(0, 4096);
        else {
          this.#buffer.add(text);
          this.#frame.request();
        }
      },
      onEnd: ({ isDisconnected, message }) => {
        if (status >= 400) return this.#enter({ state: "refused", problem: sentenceOf(refusal) });
        if (!isDisconnected && message === undefined) return this.#enter({ state: "ended" });
        this.#enter({ state: "stale", problem: message });
        this.#timer = setTimeout(() => this.#open(), retryMs);
      },
    });
  }

  #path(): string {
    const { namespace, pod, container, isPrevious } = this.#source;
    const query = new URLSearchParams({ container, timestamps: "true" });
    const { newest } = this.#buffer;
    if (isPrevious) query.set("previous", "true");
    else query.set("follow", "true");
    if (newest === undefined) query.set("tailLines", String(firstLines));
    else query.set("sinceTime", newest);
    return `${pathOf(pods, { namespace, name: pod, subresource: "log" })}?${query}`;
  }

  #enter(state: Pick<LogState, "state" | "problem">): void {
    this.#state = state;
    this.#frame.request();
  }

  #publish(): void {
    this.#snapshot = { lines: this.#buffer.lines, dropped: this.#buffer.dropped, ...this.#state };
    for (const listener of this.#listeners) listener();
  }
}

/** The message of a Status. */
function sentenceOf(body: string): string {
  try {
    const { message } = JSON.parse(body) as { readonly message?: unknown };
    if (typeof message === "string") return message;
  } catch {
    // The body is not a Status.
  }
  return body.slice(0, 300);
}
