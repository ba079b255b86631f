import type { KubeObject } from "./resource.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface TransportRequest {
  readonly method: Method;
  /** Absolute path with its query: `/api/v1/pods?limit=500`. */
  readonly path: string;
  /** Lower-case names. `content-type` is the type of a patch; `accept` and `content-type` default to JSON. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value. The transport serialises it if needed. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded JSON body; a Kubernetes `Status` when the request failed. */
  readonly body: unknown;
}

export interface WatchEvent<T extends KubeObject = KubeObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

export interface StreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Set when `status` is not 200. */
  readonly body?: unknown;
  /**
   * Set when `status` is 200. Each item is a batch of events that arrived together, in order; an empty batch means that
   * bytes arrived but no complete event. Ends when the server closes the watch; throws when the connection breaks. Ending
   * the iteration, or aborting the request's signal, closes the connection.
   */
  readonly events?: AsyncIterable<readonly WatchEvent[]>;
}

/**
 * Sends requests to an API server, over HTTPS or within the process. Every HTTP response is returned, whatever its status.
 * Without a response it throws a `KubeError` whose reason says whether the request may have been carried out.
 */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Opens a watch on its own connection. Resolves when the response headers have arrived. */
  stream(request: TransportRequest): Promise<StreamResponse>;
  close(): Promise<void>;
}
