import type {
  CallOptions,
  Client,
  DeleteOptions,
  ListOptions,
  ObjectList,
  Patch,
  WatchOptions,
  WriteOptions,
} from "../client.ts";
import { KubeError, type KubeReason } from "../errors.ts";
import type { KubeObject, ObjectKey, Resource } from "../resource.ts";
import type { WatchEvent } from "../transport.ts";
import type { Fence } from "./fence.ts";

/**
 * Failures after which nothing was written and the cache may be current. After any other failure the write may have been
 * carried out (lost responses, 5xx), or the cache is stale (conflicts, NotFound, AlreadyExists).
 */
const changesNothing: ReadonlySet<KubeReason> = new Set([
  "BadRequest",
  "Unauthorized",
  "Forbidden",
  "MethodNotAllowed",
  "NotAcceptable",
  "RequestEntityTooLarge",
  "UnsupportedMediaType",
  "Invalid",
  "TooManyRequests",
  "Unreachable",
]);

/** A client that records its writes with the fence under one scope, so that no controller can forget to. */
export class FencedClient implements Client {
  readonly #client: Client;
  readonly #fence: Fence;
  readonly #scope: string;

  constructor(client: Client, fence: Fence, scope: string) {
    this.#client = client;
    this.#fence = fence;
    this.#scope = scope;
  }

  get<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options?: CallOptions & { subresource?: string },
  ): Promise<T> {
    return this.#client.get(resource, key, options);
  }

  list<T extends KubeObject>(
    resource: Resource<T>,
    options?: ListOptions,
    transform?: (object: T) => T,
  ): Promise<ObjectList<T>> {
    return this.#client.list(resource, options, transform);
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const write = this.#client.create(resource, object, options);
    return this.#record(write, { resource, key: placeOf(object), dryRun: options?.dryRun });
  }

  update<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const write = this.#client.update(resource, object, options);
    return this.#record(write, { resource, key: placeOf(object), dryRun: options?.dryRun });
  }

  patch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: Patch, options?: WriteOptions): Promise<T> {
    const write = this.#client.patch(resource, key, patch, options);
    return this.#record(write, { resource, key, dryRun: options?.dryRun });
  }

  async delete<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options?: DeleteOptions,
  ): Promise<T | undefined> {
    try {
      const object = await this.#client.delete(resource, key, options);
      if (object !== undefined && isHeld(object)) this.#fence.wrote(this.#scope, resource, object);
      else {
        const { uid = options?.preconditions?.uid, resourceVersion: version } = object?.metadata ?? {};
        this.#fence.deleted(this.#scope, resource, { key, uid, version });
      }
      return object;
    } catch (error) {
      throw this.#recordFailure(error, resource, key);
    }
  }

  watch<T extends KubeObject>(
    resource: Resource<T>,
    options?: WatchOptions,
  ): Promise<AsyncIterable<readonly WatchEvent<T>[]>> {
    return this.#client.watch(resource, options);
  }

  /** Does nothing: the wrapped client owns the connection. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  async #record<T extends KubeObject>(
    write: Promise<T>,
    what: { resource: Resource<T>; key: ObjectKey | { namespace?: string }; dryRun: boolean | undefined },
  ): Promise<T> {
    try {
      const object = await write;
      if (what.dryRun === true) return object;
      // A subresource may return something other than the object.
      if (object.metadata?.resourceVersion === undefined) this.#fence.uncertain(this.#scope, what.resource, what.key);
      else this.#fence.wrote(this.#scope, what.resource, object);
      return object;
    } catch (error) {
      throw what.dryRun === true ? error : this.#recordFailure(error, what.resource, what.key);
    }
  }

  #recordFailure(error: unknown, resource: Resource, key: ObjectKey | { namespace?: string }): unknown {
    if (!(error instanceof KubeError && changesNothing.has(error.reason)))
      this.#fence.uncertain(this.#scope, resource, key);
    return error;
  }
}

/** The object's key, or only its namespace if the server generates the name. */
function placeOf({ metadata = {} }: KubeObject): ObjectKey | { namespace?: string } {
  const { name, namespace } = metadata;
  return { ...(name === undefined ? {} : { name }), ...(namespace === undefined ? {} : { namespace }) };
}

/** Whether a finalizer or a grace period keeps a deleted object. */
function isHeld({ metadata }: KubeObject): boolean {
  return (
    metadata?.deletionTimestamp !== undefined &&
    ((metadata.finalizers?.length ?? 0) > 0 || (metadata.deletionGracePeriodSeconds ?? 0) > 0)
  );
}
