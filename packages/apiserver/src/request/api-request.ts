import type { Method, WatchEvent } from "@agent-sandbox/kube";
import type { Identity } from "../auth/identity.ts";

/** A request after transport: its body is a plain JSON value that nobody else will change. */
export interface ApiRequest {
  readonly method: Method;
  /** Path and query as they came. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
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
}

export interface TextReply {
  readonly kind: "text";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface WatchReply {
  readonly kind: "watch";
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly events: AsyncIterable<readonly WatchEvent[]>;
}

export type Reply = ObjectReply | TextReply | WatchReply;
