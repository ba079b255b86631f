import { type ApiObject, isJsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import { WorkSet } from "../gc/work-set.ts";
import { equalJson } from "../json.ts";
import type { Logger } from "../logger.ts";
import { scheduled } from "../pods/binding.ts";
import { withRevision } from "../resources/admission.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { Change, ResourceChange } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { create } from "../verbs/create.ts";
import { ownWrite } from "../verbs/write-options.ts";
import { placementProblem } from "./placement-problem.ts";

/**
 * Binds pending Pods to the box's only node. Most Pods are bound when they are created; the others were created while
 * the node was cordoned or tainted, or with scheduling gates.
 */
export class PodBinder {
  readonly #context: ApiContext;
  readonly #work: WorkSet;
  /** Keys of Pods that are not bound. */
  readonly #unbound = new Set<string>();
  #unsubscribe: () => void = () => undefined;

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
    for (const { key, object } of store.list("pods")) {
      if (isUnbound(object)) this.#unbound.add(key);
    }
    for (const key of this.#unbound) this.#work.add(key);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#work.stop();
  }

  #nodesChanged(changes: readonly ResourceChange[], nodeName: string): void {
    if (this.#unbound.size === 0) return;
    const concerns = ({ key, stored, previous }: Change): boolean =>
      key === nodeName && !equalJson(stored?.object["spec"], previous?.object["spec"]);
    if (!changes.some(({ change }) => concerns(change))) return;
    for (const key of this.#unbound) this.#work.add(key);
  }

  /** Ignores updates of bound Pods, which are nearly all changes. */
  #podsChanged(changes: readonly ResourceChange[]): void {
    for (const { change } of changes) {
      const { key, stored, previous } = change;
      if (previous !== undefined && !this.#unbound.has(key)) continue;
      if (stored === undefined || !isUnbound(stored.object)) {
        this.#unbound.delete(key);
        continue;
      }
      this.#unbound.add(key);
      this.#work.add(key);
      if (previous === undefined) void this.#recordEvent(stored.object);
    }
  }

  async #bind(key: string): Promise<void> {
    const { store, clock, nodeName = "" } = this.#context;
    await store.write((view, revision) => {
      const pod = view.get("pods", key)?.object;
      if (pod === undefined || !mayBeBound(pod, view.get("nodes", nodeName)?.object)) return { result: undefined };
      const bound = scheduled(pod, { target: { name: nodeName } }, clock.now());
      return { write: { resource: "pods", key, object: withRevision(bound, revision) }, result: undefined };
    });
  }

  /** Writes the event FailedScheduling, where users look for the reason that a Pod is pending. */
  async #recordEvent(pod: ApiObject): Promise<void> {
    const { registry, store, clock, logger, nodeName = "" } = this.#context;
    const spec = isJsonObject(pod["spec"]) ? pod["spec"] : {};
    const message = placementProblem(spec, store.get("nodes", nodeName)?.object);
    if (message === undefined || hasGates(pod)) return;
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
      source: { component: "agent-sandbox" },
      reportingComponent: "agent-sandbox",
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
    await create(this.#context, target, body, ownWrite).catch((error: unknown) =>
      logger.warn({ err: error, pod: `${namespace}/${name}` }, "event could not be written"),
    );
  }
}

const isUnbound = (pod: ApiObject): boolean => (stringAt(pod, "spec", "nodeName") ?? "") === "";
const hasGates = (pod: ApiObject): boolean => objectsAt(pod, "spec", "schedulingGates").length > 0;

function mayBeBound(pod: ApiObject, node: ApiObject | undefined): boolean {
  const spec = valueAt(pod, "spec");
  if (!isJsonObject(spec) || !isUnbound(pod) || hasGates(pod)) return false;
  return pod.metadata.deletionTimestamp === undefined && placementProblem(spec, node) === undefined;
}
