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
import { type Clock, systemClock } from "../clock.ts";
import { KubeError } from "../errors.ts";
import type { KubeObject, ObjectKey, Resource } from "../resource.ts";
import type { Method, Transport, TransportRequest, WatchEvent } from "../transport.ts";
import { gatherPages, readPage } from "./pages.ts";
import { asConflict, guardsOf, patchRequest } from "./patch-request.ts";
import { resourcePath, type Target, withQuery } from "./paths.ts";
import { type RateLimit, RateLimiter } from "./rate-limiter.ts";
import { Sender } from "./sender.ts";
import { isStatus, statusError } from "./status-error.ts";
import { withType } from "./typed-object.ts";

export interface ClientOptions {
  /** The field manager of all writes. `apply` needs one, here or in the call. */
  readonly fieldManager?: string;
  /** No limit when absent: API servers have their own priority and fairness. */
  readonly rateLimit?: RateLimit;
  /** Called with the server's warnings, for example about deprecations and unknown fields. */
  readonly onWarning?: (text: string) => void;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** A client over any transport: HTTP, or an API server in the same process. */
export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  return new TransportClient(transport, options);
}

interface Call {
  readonly verb: string;
  readonly method: Method;
  readonly target: Target;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

class TransportClient implements Client {
  readonly #transport: Transport;
  readonly #sender: Sender;
  readonly #fieldManager: string | undefined;

  constructor(transport: Transport, options: ClientOptions) {
    const { clock = systemClock, random = Math.random, rateLimit, onWarning, fieldManager } = options;
    const limiter = rateLimit && new RateLimiter(rateLimit, clock);
    this.#transport = transport;
    this.#sender = new Sender(transport, { clock, random, limiter, onWarning });
    this.#fieldManager = fieldManager;
  }

  get<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options: CallOptions & { subresource?: string } = {},
  ): Promise<T> {
    const target = { ...key, subresource: options.subresource };
    return this.#object(resource, { verb: "get", method: "GET", target, signal: options.signal });
  }

  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions = {},
    transform?: (object: T) => T,
  ): Promise<ObjectList<T>> {
    const { namespace, labelSelector, fieldSelector, resourceVersion, resourceVersionMatch, signal } = options;
    const fetch = async (limit: number | undefined, continueToken: string | undefined) => {
      // A continue token contains the version; servers reject both together.
      const from =
        continueToken === undefined ? { resourceVersion, resourceVersionMatch } : { continue: continueToken };
      const query = { labelSelector, fieldSelector, limit, ...from };
      return readPage(
        resource,
        await this.#call(resource, { verb: "list", method: "GET", target: { namespace }, query, signal }),
      );
    };
    return gatherPages(resource, options, { fetch, transform });
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { subresource } = options;
    const { name, namespace } = object.metadata ?? {};
    const target = subresource === undefined ? { namespace } : { namespace, name: name ?? "", subresource };
    if (resource.namespaced && namespace === undefined) {
      const message = `Cannot create ${resource.plural} "${name ?? ""}": metadata.namespace is missing`;
      return Promise.reject(new KubeError("BadRequest", message));
    }
    const body = subresource === undefined ? withType(resource, object) : object;
    return this.#object(resource, { verb: "create", method: "POST", target, ...this.#write(options), body });
  }

  update<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { name = "", namespace } = object.metadata ?? {};
    const target = { namespace, name, subresource: options.subresource };
    const body = withType(resource, object);
    return this.#object(resource, { verb: "update", method: "PUT", target, ...this.#write(options), body });
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const { query, signal } = this.#write(options);
    if (patch.type === "apply" && query["fieldManager"] === undefined) {
      const message = `Cannot apply ${resource.plural} "${key.name}": an apply needs a fieldManager`;
      return Promise.reject(new KubeError("BadRequest", message));
    }
    const force = patch.type === "apply" ? patch.force : undefined;
    const target = { ...key, subresource: options.subresource };
    const call = { verb: "patch", method: "PATCH", target, query: { ...query, force }, signal } as const;
    return this.#object(resource, { ...call, ...patchRequest(patch) }).catch((error: unknown) => {
      throw asConflict(error, patch);
    });
  }

  async delete<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const { propagationPolicy, gracePeriodSeconds, signal } = options;
    const preconditions = guardsOf(options.preconditions);
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...(Object.keys(preconditions).length > 0 ? { preconditions } : {}),
      ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    };
    const answer = await this.#call(resource, { verb: "delete", method: "DELETE", target: key, body, signal });
    return isStatus(answer) ? undefined : (answer as T);
  }

  async watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): Promise<AsyncIterable<readonly WatchEvent<T>[]>> {
    const { namespace, signal, ...rest } = options;
    const query = { watch: true, allowWatchBookmarks: true, ...rest };
    const call: Call = { verb: "watch", method: "GET", target: { namespace }, query, signal };
    const response = await this.#sender.stream(request(resource, call));
    const { status, headers, body, events } = response;
    if (status === 200 && events) return events as AsyncIterable<readonly WatchEvent<T>[]>;
    throw statusError(describe(resource, call), { status, headers, body });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #object<T extends KubeObject>(resource: Resource<T>, call: Call): Promise<T> {
    return (await this.#call(resource, call)) as T;
  }

  async #call<T extends KubeObject>(resource: Resource<T>, call: Call): Promise<object> {
    const response = await this.#sender.send(request(resource, call));
    const { status, body } = response;
    if (status < 200 || status > 299) throw statusError(describe(resource, call), response);
    if (typeof body !== "object" || body === null) {
      const message = `Cannot ${describe(resource, call)}: the server returned ${status} without an object`;
      throw new KubeError("InvalidResponse", message, { code: status });
    }
    return body;
  }

  #write(options: WriteOptions): { query: NonNullable<Call["query"]>; signal: AbortSignal | undefined } {
    const { fieldManager = this.#fieldManager, fieldValidation, dryRun, signal } = options;
    return { query: { fieldManager, fieldValidation, dryRun: dryRun === true ? "All" : undefined }, signal };
  }
}

function request<T extends KubeObject>(resource: Resource<T>, call: Call): TransportRequest {
  const { method, target, query = {}, contentType, body, signal } = call;
  return {
    method,
    path: withQuery(resourcePath(resource, target), query),
    ...(contentType === undefined ? {} : { headers: { "content-type": contentType } }),
    ...(body === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
  };
}

function describe<T extends KubeObject>(resource: Resource<T>, { verb, target }: Call): string {
  const { namespace, name, subresource } = target;
  const what = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  if (name === undefined) return namespace === undefined ? `${verb} ${what}` : `${verb} ${what} in "${namespace}"`;
  return `${verb} ${what} "${namespace === undefined ? name : `${namespace}/${name}`}"`;
}
