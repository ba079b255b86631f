import type { KubeObject, ObjectKey, Resource } from "./resource.ts";
import type { WatchEvent } from "./transport.ts";

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface ListOptions extends CallOptions {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size; the client's `list` follows `continue` to the end. Default 500. */
  readonly limit?: number;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
}

export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WriteOptions extends CallOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict";
  readonly dryRun?: boolean;
}

/** Preconditions are sent inside the patch (`metadata.uid`, `metadata.resourceVersion`). If they do not hold, the patch fails with `Conflict`. */
export type Patch =
  | { readonly type: "merge" | "strategic"; readonly body: object; readonly preconditions?: Preconditions }
  | { readonly type: "json"; readonly body: readonly object[]; readonly preconditions?: Preconditions }
  | { readonly type: "apply"; readonly body: object; readonly force?: boolean };

export interface DeleteOptions extends CallOptions {
  readonly preconditions?: Preconditions;
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
  readonly gracePeriodSeconds?: number;
}

export interface WatchOptions extends CallOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "NotOlderThan";
  /** The server sends the current objects first, then a bookmark annotated `k8s.io/initial-events-end`. */
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
}

/**
 * A typed client of a Kubernetes API server. Every failure is a thrown `KubeError`. It retries only requests that the
 * server rejected without processing them (429, and 503 with `Retry-After`), at most four times.
 */
export interface Client {
  get<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options?: CallOptions & { subresource?: string },
  ): Promise<T>;
  /**
   * Follows `continue` to the end and starts again if the token has expired. `transform` is applied page by page, so that
   * the whole untransformed list is never in memory.
   */
  list<T extends KubeObject>(
    resource: Resource<T>,
    options?: ListOptions,
    transform?: (object: T) => T,
  ): Promise<ObjectList<T>>;
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  update<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: Patch, options?: WriteOptions): Promise<T>;
  /** Returns the object as it is if finalizers or a grace period keep it, and its last state or undefined otherwise. */
  delete<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options?: DeleteOptions): Promise<T | undefined>;
  /** One watch, until the server closes it. Use `followResource` for an endless one. */
  watch<T extends KubeObject>(
    resource: Resource<T>,
    options?: WatchOptions,
  ): Promise<AsyncIterable<readonly WatchEvent<T>[]>>;
  close(): Promise<void>;
}
