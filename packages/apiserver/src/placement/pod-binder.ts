import { type ApiObject, isJsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import { WorkSet } from "../gc/work-set.ts";
import { equalJson } from "../json.ts";
import type { Logger } from "../logger.ts";
import { scheduled, withCondition } from "../pods/binding.ts";
import { withRevision } from "../resources/admission.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import { unscheduled } from "../resources/pod/pod-defaults.ts";
import type { Change, ResourceChange, Stored } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { create } from "../verbs/create.ts";
import { ownWrite } from "../verbs/write-options.ts";
import { type Placement, placementProblem } from "./placement-problem.ts";
import type { Amounts } from "./pod-requests.ts";

/** Pauses between searches for Pods that fit now, because a search reads all waiting Pods. */
const searchEveryMs = 100;

/** A Pod that is not bound. */
interface Waiting {
  readonly namespace: string;
  readonly requests: Amounts;
}

/**
 * Binds pending Pods to the box's only node. Most Pods are bound when they are created; the others did not fit, or were
 * created while the node was cordoned or tainted, or with scheduling gates.
 */
export class PodBinder {
  readonly #context: ApiContext;
  readonly #work: WorkSet;
  /** By key, the longest waiting Pod first. */
  readonly #unbound = new Map<string, Waiting>();
  #unsubscribe: () => void = () => undefined;
  /** The value of `Allocations.releases` at the last search. */
  #searched = 0;
  #searchedAtMs = Number.NEGATIVE_INFINITY;
  #search: NodeJS.Timeout | undefined;

  constructor(context: ApiContext, logger: Logger) {
    this.#context = context;
    this.#work = new WorkSet((key) => this.#bind(key), logger);
  }

  start(): void {
    const { store, nodeName } = this.#context;
    if (nodeName === undefined) return;
    const undo = [
      store.subscribe("nodes", (changes) => this.#nodesChanged(changes, nodeName)),
      store.subscribe("pods", (changes) => this.#podsChanged(changes)),
    ];
    this.#unsubscribe = () => undo.forEach((each) => each());
    const waiting = [...store.list("pods")].filter(({ object }) => isUnbound(object));
    const age = ({ object }: Stored): string => object.metadata.creationTimestamp ?? "";
    waiting.sort((left, right) => (age(left) < age(right) ? -1 : 1));
    for (const { key, object } of waiting) this.#wait(key, object);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    clearTimeout(this.#search);
    await this.#work.stop();
  }

  #wait(key: string, pod: ApiObject): void {
    const spec = isJsonObject(pod["spec"]) ? pod["spec"] : {};
    const requests = this.#context.allocations?.requestsOf(spec) ?? new Map<string, number>();
    this.#unbound.set(key, { namespace: pod.metadata.namespace ?? "", requests });
    this.#work.add(key);
  }

  #nodesChanged(changes: readonly ResourceChange[], nodeName: string): void {
    if (this.#unbound.size === 0) return;
    const concerns = ({ key, stored, previous }: Change): boolean =>
      key === nodeName &&
      nodeParts.some((path) => !equalJson(valueAt(stored?.object, ...path), valueAt(previous?.object, ...path)));
    if (!changes.some(({ change }) => concerns(change))) return;
    for (const key of this.#unbound.keys()) this.#work.add(key);
  }

  /** Ignores updates of bound Pods, which are nearly all changes, except for the room that they give up. */
  #podsChanged(changes: readonly ResourceChange[]): void {
    for (const { resource, change } of changes) {
      const { key, stored, previous } = change;
      if (resource !== "pods" || (previous !== undefined && !this.#unbound.has(key))) continue;
      if (stored === undefined || !isUnbound(stored.object)) {
        this.#unbound.delete(key);
        continue;
      }
      this.#wait(key, stored.object);
      if (previous === undefined) void this.#recordEvent(stored.object);
    }
    if (this.#unbound.size > 0 && this.#context.allocations?.releases !== this.#searched) this.#searchLater();
  }

  #searchLater(): void {
    const pauseMs = Math.max(0, this.#searchedAtMs + searchEveryMs - performance.now());
    this.#search ??= setTimeout(() => {
      this.#search = undefined;
      this.#searchedAtMs = performance.now();
      this.#searchNow();
    }, pauseMs).unref();
  }

  /** Finds the waiting Pods that fit together now. Each is checked again when it is bound. */
  #searchNow(): void {
    const { allocations, store, nodeName = "" } = this.#context;
    if (allocations === undefined) return;
    this.#searched = allocations.releases;
    const allocatable = allocations.allocatableOf(store.get("nodes", nodeName)?.object);
    const planned = allocations.usage();
    for (const [key, { namespace, requests }] of this.#unbound) {
      if (allocatable !== undefined && planned.shortages(namespace, requests, allocatable).length > 0) continue;
      planned.add(namespace, requests);
      this.#work.add(key);
    }
  }

  /** Binds the Pod, or records a new reason why it has to wait. */
  async #bind(key: string): Promise<void> {
    const { store, clock, nodeName = "", allocations } = this.#context;
    const refused = await store.write<ApiObject | undefined>((view, revision) => {
      const pod = view.get("pods", key)?.object;
      if (pod === undefined || !mayBeBound(pod)) return { result: undefined };
      const problem = placementProblem(placementOf(pod), view.get("nodes", nodeName)?.object, allocations);
      if (problem !== undefined && problem === scheduledMessage(pod)) return { result: undefined };
      const nowMs = clock.now();
      const changed =
        problem === undefined
          ? scheduled(pod, { target: { name: nodeName } }, nowMs)
          : withCondition(pod, unscheduled("Unschedulable", problem, nowMs));
      const object = withRevision(changed, revision);
      return { write: { resource: "pods", key, object }, result: problem === undefined ? undefined : object };
    });
    if (refused !== undefined) await this.#recordEvent(refused);
  }

  /** Writes the event FailedScheduling, where users look for the reason that a Pod is pending. */
  async #recordEvent(pod: ApiObject): Promise<void> {
    const { registry, clock, logger } = this.#context;
    const message = scheduledMessage(pod);
    if (message === undefined) return;
    const { name = "", namespace, uid, resourceVersion } = pod.metadata;
    const definition = registry.get("events") as ResourceDefinition;
    const target = { definition, version: definition.versions[0], namespace, name: undefined, subresource: undefined };
    const now = timestamp(clock.now());
    const body = {
      metadata: { generateName: `${name}.` },
      involvedObject: { apiVersion: "v1", kind: "Pod", name, namespace, uid, resourceVersion },
      type: "Warning",
      reason: "FailedScheduling",
      message,
      source: { component: "default-scheduler" },
      reportingComponent: "default-scheduler",
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
    await create(this.#context, target, body, ownWrite).catch((error: unknown) =>
      logger.warn({ err: error, pod: `${namespace}/${name}` }, "event could not be written"),
    );
  }
}

/** The parts of a Node that decide which Pods it accepts. */
const nodeParts = [["spec"], ["status", "allocatable"]];

const isUnbound = (pod: ApiObject): boolean => (stringAt(pod, "spec", "nodeName") ?? "") === "";
const hasGates = (pod: ApiObject): boolean => objectsAt(pod, "spec", "schedulingGates").length > 0;
const mayBeBound = (pod: ApiObject): boolean =>
  isUnbound(pod) && !hasGates(pod) && pod.metadata.deletionTimestamp === undefined;

const placementOf = (pod: ApiObject): Placement => ({
  namespace: pod.metadata.namespace ?? "",
  spec: isJsonObject(pod["spec"]) ? pod["spec"] : {},
});

/** The recorded reason why the node does not accept a Pod. */
function scheduledMessage(pod: ApiObject): string | undefined {
  const condition = objectsAt(pod, "status", "conditions").find(({ type }) => type === "PodScheduled");
  return condition?.["reason"] === "Unschedulable" ? stringAt(condition, "message") : undefined;
}
