import { isDeepStrictEqual } from "node:util";
import type { Pod, Service } from "@agent-sandbox/api";
import {
  type Client,
  Controller,
  Fence,
  type Index,
  type Informer,
  Informers,
  isReason,
  type KubeObject,
  type Logger,
  objectKey,
  type Resource,
  watching,
} from "@agent-sandbox/kube";
import { endpointSlices, endpoints, pods, services } from "../resources.ts";
import {
  type EndpointSlice,
  type Endpoints,
  endpointGroups,
  endpointsOf,
  isBehind,
  isSelecting,
  managerLabel,
  serviceLabel,
  sliceManager,
  slicesOf,
} from "./endpoints.ts";

export interface EndpointWriterOptions {
  readonly client: Client;
  readonly nodeName: string;
  readonly log: Logger;
}

interface Caches {
  readonly pods: Informer<Pod>;
  readonly podsIn: Index<Pod>;
  readonly services: Informer<Service>;
  readonly servicesIn: Index<Service>;
  readonly endpoints: Informer<Endpoints>;
  readonly slices: Informer<EndpointSlice>;
  readonly slicesOf: Index<EndpointSlice>;
}

/** Writes the Endpoints and EndpointSlices of each Service for API clients. The firewall does not use them. */
export class EndpointWriter implements AsyncDisposable {
  readonly ready: Promise<void>;
  readonly #caches: Caches;
  readonly #owned = new AsyncDisposableStack();

  constructor({ client, nodeName, log }: EndpointWriterOptions) {
    const informers = this.#owned.use(new Informers({ client, log }));
    this.#caches = open(informers, nodeName);
    const controller = this.#owned.use(
      Controller.start({
        name: "endpoints",
        client,
        fence: new Fence({ informers }),
        workers: 2,
        primary: this.#caches.services,
        triggers: [
          watching(this.#caches.pods, (pod) => this.#servicesOf(pod)),
          watching(this.#caches.slices, serviceKeys),
          watching(this.#caches.endpoints, (one) => [objectKey(one)]),
        ],
        log,
        reconcile: async (key, pass) => this.#reconcile(key, pass.client),
      }),
    );
    this.ready = controller.ready;
    // Callers may ignore `ready`, so its rejection must not be unhandled.
    this.ready.catch(() => undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  #servicesOf(pod: Pod): string[] {
    const near = this.#caches.servicesIn.get(pod.metadata?.namespace ?? "");
    return near.filter((service) => isSelecting(service) && isBehind(service, pod)).map(objectKey);
  }

  /** The garbage collector removes the objects of a deleted Service. */
  async #reconcile(key: string, client: Client): Promise<void> {
    const { services: all, podsIn, endpoints: older, slicesOf: bySlice } = this.#caches;
    const service = all.get(key);
    if (service === undefined || service.metadata?.deletionTimestamp !== undefined || !isSelecting(service)) return;
    const groups = endpointGroups(service, podsIn.get(service.metadata?.namespace ?? ""));
    const wanted = slicesOf(service, groups);
    const there = bySlice.get(key);
    for (const slice of wanted) {
      await put(
        client,
        endpointSlices,
        slice,
        there.find((one) => objectKey(one) === objectKey(slice)),
      );
    }
    const names = new Set(wanted.map(objectKey));
    for (const { metadata } of there.filter((one) => !names.has(objectKey(one)))) {
      const { namespace = "", name = "" } = metadata ?? {};
      await client.delete(endpointSlices, { namespace, name }).catch(unlessGone);
    }
    await put(client, endpoints, endpointsOf(service, groups), older.get(key));
  }
}

function open(informers: Informers, nodeName: string): Caches {
  const podCache = informers.get(pods, { fieldSelector: `spec.nodeName=${nodeName}` });
  const serviceCache = informers.get(services);
  const sliceCache = informers.get(endpointSlices, { labelSelector: `${managerLabel}=${sliceManager}` });
  return {
    pods: podCache,
    podsIn: podCache.index("namespace", namespaceOf),
    services: serviceCache,
    servicesIn: serviceCache.index("namespace", namespaceOf),
    endpoints: informers.get(endpoints),
    slices: sliceCache,
    slicesOf: sliceCache.index("service", serviceKeys),
  };
}

/** Creates the object, or patches it if it differs. */
async function put<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  wanted: T,
  there: T | undefined,
): Promise<void> {
  if (there === undefined) {
    await client.create(resource, wanted).catch(unlessThere);
    return;
  }
  const { metadata, apiVersion: _version, kind: _kind, ...content } = wanted;
  const { namespace = "", name = "", uid = "", resourceVersion = "", ownerReferences } = there.metadata ?? {};
  const owners = metadata?.ownerReferences;
  if (isDeepStrictEqual(ownerReferences, owners) && isDeepStrictEqual({ ...there, ...content }, there)) return;
  const body = { metadata: { labels: metadata?.labels, ownerReferences: owners }, ...content };
  await client.patch(resource, { namespace, name }, { type: "merge", body, preconditions: { uid, resourceVersion } });
}

function unlessGone(error: unknown): undefined {
  if (!isReason(error, "NotFound")) throw error;
}

function unlessThere(error: unknown): undefined {
  if (!isReason(error, "AlreadyExists")) throw error;
}

function namespaceOf({ metadata }: KubeObject): string[] {
  return [metadata?.namespace ?? ""];
}

function serviceKeys({ metadata }: EndpointSlice): string[] {
  const service = metadata?.labels?.[serviceLabel];
  return service === undefined ? [] : [`${metadata?.namespace}/${service}`];
}
