import type { Readable } from "node:stream";
import type { Method, WatchEvent } from "@agent-sandbox/kube";
import type { ApiError } from "../api-error.ts";
import type { Identity } from "../auth/identity.ts";

/** A request after transport: its body is a plain JSON value that nobody else will change. */
export interface ApiRequest {
  readonly method: Method;
  /** Path and query as they came. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Why the body could not be read. Told to those alone who may do what they ask for, of something that is served. */
  readonly bodyProblem?: ApiError | undefined;
  /** Members that the body names more than once, when that was looked for. */
  readonly duplicateFields?: readonly string[] | undefined;
  readonly identity: Identity;
  /** Who the client asks to act as instead. */
  readonly impersonate?: Identity | undefined;
  /** Where the request came from; absent when it came from this process. */
  readonly sourceAddress?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ObjectReply {
  readonly kind: "object";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The body as JSON, where that is there already. */
  readonly json?: string;
  /** About how long the JSON is, where that is known before it is made. */
  readonly length?: number;
}

export interface TextReply {
  readonly kind: "text";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string | Uint8Array;
}

export interface WatchReply {
  readonly kind: "watch";
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly events: AsyncIterable<readonly ServedEvent[]>;
}

/** A watch event with the JSON of its object, if that is stored. All watches of an object send the same text. */
export interface ServedEvent extends WatchEvent {
  readonly json?: string | undefined;
}

/** A body of unknown length, sent as it comes. Whoever gets it must read or destroy it. */
export interface StreamReply {
  readonly kind: "stream";
  readonly status: 200 | 204;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

export type Reply = ObjectReply | TextReply | WatchReply | StreamReply;
