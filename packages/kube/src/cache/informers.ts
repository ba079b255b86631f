import type { Client } from "../client.ts";
import { type Logger, silentLogger } from "../logger.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { type FollowOptions, followResource } from "../watch/follow.ts";
import { FeedInformer } from "./feed-informer.ts";
import type { Informer, Scope } from "./informer.ts";

export interface InformersOptions {
  readonly client: Client;
  readonly scheduler?: Scheduler;
  readonly log?: Logger;
  /** Options of the list-watches. Scope, clock and signal are set here. */
  readonly follow?: Pick<FollowOptions<KubeObject>, "initial" | "pageSize" | "idleMs" | "random">;
}

export interface InformerOptions<T extends KubeObject> extends Scope {
  /**
   * Removes fields that no reader needs, to save memory. Must return a new object and not modify its argument. Default:
   * `dropManagedFields`.
   */
  readonly trim?: (object: T) => T;
}

/** One shared informer per resource and scope, started on first use. */
export class Informers implements AsyncDisposable {
  readonly client: Client;
  readonly #options: InformersOptions;
  readonly #byScope = new Map<
    string,
    { readonly informer: Informer & AsyncDisposable; readonly trim: (object: never) => KubeObject }
  >();
  readonly #byResource = new Map<string, Informer[]>();

  constructor(options: InformersOptions) {
    this.client = options.client;
    this.#options = options;
  }

  get<T extends KubeObject>(resource: Resource<T>, options: InformerOptions<T> = {}): Informer<T> {
    const { trim = dropManagedFields, ...scope } = options;
    const id = JSON.stringify([resourceId(resource), scope.namespace, scope.labelSelector, scope.fieldSelector]);
    const existing = this.#byScope.get(id);
    if (existing === undefined) return this.#open(id, resource, { scope, trim });
    if (existing.trim !== trim) {
      throw new Error(`Cannot share the informer of ${resource.plural}: it exists with another trim function`);
    }
    return existing.informer as unknown as Informer<T>;
  }

  /** All informers that hold objects of this resource. */
  of(resource: Resource): readonly Informer[] {
    return this.#byResource.get(resourceId(resource)) ?? [];
  }

  /** Resolves when every informer so far has its first list. */
  async synced(): Promise<void> {
    await Promise.all(Array.from(this.#byScope.values(), ({ informer }) => informer.synced));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#byScope.values(), ({ informer }) => informer[Symbol.asyncDispose]()));
  }

  #open<T extends KubeObject>(
    id: string,
    resource: Resource<T>,
    { scope, trim }: { readonly scope: Scope; readonly trim: (object: T) => T },
  ): Informer<T> {
    const { client, scheduler: clock = systemScheduler, log = silentLogger, follow } = this.#options;
    const { plural } = resource;
    const onTrouble: FollowOptions<T>["onTrouble"] = ({ error, silent, ...rest }) => {
      // An API server sends no bookmarks for a resource that has not changed since it started.
      if (silent) log.debug({ resource: plural, ...rest }, "watch silent, reopened");
      else log.warn({ resource: plural, err: error, ...rest }, "watch interrupted");
    };
    const onInvalidObject = (error: unknown): void =>
      log.error({ resource: plural, err: error }, "object not processed");
    const transform = orUnchanged(trim, onInvalidObject);
    const informer = new FeedInformer<T>(resource, scope, {
      open: (signal) => followResource(client, resource, { ...follow, ...scope, transform, onTrouble, clock, signal }),
      trim: transform,
      turn: () => clock.turn?.(),
      onInvalidObject,
      log,
    });
    this.#byScope.set(id, { informer: informer, trim });
    this.#byResource.set(resourceId(resource), [...this.of(resource), informer]);
    return informer;
  }
}

/** An object for which the trim function throws is kept unchanged: it must not stop the feed of all others. */
function orUnchanged<T>(trim: (object: T) => T, onInvalidObject: (error: unknown) => void): (object: T) => T {
  return (object) => {
    try {
      return trim(object);
    } catch (error) {
      onInvalidObject(error);
      return object;
    }
  };
}

/** Managed fields are about half of a typical object, and no controller reads them. */
export function dropManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata?.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function resourceId(resource: Resource): string {
  return `${resource.apiVersion}/${resource.plural}`;
}
