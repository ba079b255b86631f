import type { Readable } from "node:stream";
import type { Method, WatchEvent } from "@agent-sandbox/kube";
import type { ApiError } from "../api-error.ts";
import type { Identity } from "../auth/identity.ts";

/** A request, independent of its transport. Its body is a JSON value that nobody else changes. */
export interface ApiRequest {
  readonly method: Method;
  /** Path and query as they were sent. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Why the body could not be parsed. Reported only after authorization, for resources that are served. */
  readonly bodyProblem?: ApiError | undefined;
  /** Duplicate keys of the body, when they were searched for. */
  readonly duplicateFields?: readonly string[] | undefined;
  readonly identity: Identity;
  /** The identity that the client asks to impersonate. */
  readonly impersonate?: Identity | undefined;
  /** The address of the client, absent for requests from this process. */
  readonly sourceAddress?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ObjectReply {
  readonly kind: "object";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The body as JSON text, if it is already available. */
  readonly json?: string;
  /** The approximate length of the JSON, if it is known in advance. */
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

/** A body of unknown length. The receiver must read or destroy it. */
export interface StreamReply {
  readonly kind: "stream";
  readonly status: 200 | 204;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

export type Reply = ObjectReply | TextReply | WatchReply | StreamReply;
