import type { PodSessions, PodStreams } from "@agent-sandbox/kube";
import type { ApiObject } from "../api-object.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { AccessControl } from "../authorization/access-control.ts";
import type { Clock } from "../clock.ts";
import type { Ownership } from "../gc/ownership.ts";
import type { Interner } from "../interner.ts";
import type { Logger } from "../logger.ts";
import type { PartMetrics } from "../metrics/part-metrics.ts";
import type { RequestMetrics } from "../metrics/request-metrics.ts";
import type { Allocations } from "../placement/allocations.ts";
import type { Admission } from "../resources/admission.ts";
import type { AdmissionContext } from "../resources/definition.ts";
import type { Registry } from "../resources/registry.ts";
import type { ServiceAddresses } from "../resources/service/service-addresses.ts";
import type { Store } from "../store/store.ts";
import type { KindVersionsCache } from "./kind-versions.ts";
import type { NamespaceLimits } from "./namespace-limits.ts";

/** The parts of the server that the verbs use. */
export interface ApiContext {
  readonly store: Store;
  readonly registry: Registry;
  readonly admission: Admission;
  readonly interner: Interner;
  readonly kinds: KindVersionsCache;
  readonly clock: Clock;
  readonly addresses: ServiceAddresses;
  /** Existing objects by UID, maintained by the garbage collector. */
  readonly ownership: Ownership;
  readonly access: AccessControl;
  /** Records every request; `undefined` when auditing is off. */
  readonly audit: AuditLog | undefined;
  readonly metrics: RequestMetrics;
  readonly partMetrics: PartMetrics;
  readonly logger: Logger;
  /** How much each namespace may store. */
  readonly limits: NamespaceLimits;
  readonly nodeName: string | undefined;
  /** The requests of the Pods on that node; `undefined` if there is none. */
  readonly allocations: Allocations | undefined;
  readonly podStreams: PodStreams | undefined;
  readonly podSessions: PodSessions | undefined;
  /** How often a watch without events sends a bookmark. */
  readonly bookmarkMs: number;
  /** Aborts when the server closes, which ends all watches. */
  readonly closing: AbortSignal;
}

export function admissionContext(context: ApiContext): AdmissionContext {
  const { clock, nodeName, allocations, addresses, registry, store } = context;
  const find = (resource: string, key: string): ApiObject | undefined => store.get(resource, key)?.object;
  const list = (resource: string): Iterable<ApiObject> => objectsOf(store, resource);
  return { nowMs: clock.now(), nodeName, allocations, addresses, registry, find, list };
}

export function* objectsOf(store: Store, resource: string): Generator<ApiObject> {
  for (const { object } of store.list(resource)) yield object;
}

/** Saved objects and those whose writes are decided but not saved yet. Checks for uniqueness must see both. */
export function* decidedObjects(store: Store, resource: string): Generator<ApiObject> {
  yield* objectsOf(store, resource);
  yield* store.staged(resource);
}
