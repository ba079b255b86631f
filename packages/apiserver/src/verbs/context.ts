import type { PodStreams } from "@agent-sandbox/kube";
import type { ApiObject } from "../api-object.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { AccessControl } from "../authorization/access-control.ts";
import type { Clock } from "../clock.ts";
import type { Ownership } from "../gc/ownership.ts";
import type { Logger } from "../logger.ts";
import type { RequestMetrics } from "../metrics/request-metrics.ts";
import type { AdmissionContext } from "../resources/definition.ts";
import type { Registry } from "../resources/registry.ts";
import type { ServiceAddresses } from "../resources/service/service-addresses.ts";
import type { Store } from "../store/store.ts";
import type { NamespaceLimits } from "./namespace-limits.ts";

/** What every verb works with. */
export interface ApiContext {
  readonly store: Store;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly addresses: ServiceAddresses;
  /** Which objects there are by UID, kept by the garbage collector. */
  readonly ownership: Ownership;
  readonly access: AccessControl;
  /** Hears of every request, when it is switched on. */
  readonly audit: AuditLog | undefined;
  /** Counts every request. */
  readonly metrics: RequestMetrics;
  readonly logger: Logger;
  /** How much tenants may store. */
  readonly limits: NamespaceLimits;
  readonly nodeName: string | undefined;
  readonly podStreams: PodStreams | undefined;
  /** How often a watch that has nothing to say shows life, and how far the server is. */
  readonly bookmarkMs: number;
  /** Aborts when the server closes: watches end then. */
  readonly closing: AbortSignal;
}

export function admissionContext({ clock, nodeName, addresses, registry, store }: ApiContext): AdmissionContext {
  const find = (resource: string, key: string): ApiObject | undefined => store.get(resource, key)?.object;
  const list = (resource: string): Iterable<ApiObject> => objectsOf(store, resource);
  return { nowMs: clock.now(), nodeName, addresses, registry, find, list };
}

export function* objectsOf(store: Store, resource: string): Generator<ApiObject> {
  for (const { object } of store.list(resource)) yield object;
}

/** The saved objects and those that are about to be saved: what must be unique is compared with all of them. */
export function* decidedObjects(store: Store, resource: string): Generator<ApiObject> {
  yield* objectsOf(store, resource);
  yield* store.staged(resource);
}
