import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import { timestamp } from "../../clock.ts";
import type { Interner } from "../../interner.ts";
import { equalJson } from "../../json.ts";
import { placementProblem, rejection } from "../../placement/placement-problem.ts";
import type { AdmissionContext } from "../definition.ts";
import { referenced } from "./pod-references.ts";
import { qosClass } from "./qos-class.ts";

/**
 * Sets the defaults that the schema of Pods does not have, among them those that depend on other fields. Ignores fields of a
 * wrong type, which validation reports.
 */
export function setPodDefaults(pod: ApiObject, interner: Interner): ApiObject {
  const { spec } = pod;
  return isJsonObject(spec) ? { ...pod, spec: interner.derive(defaultedSpec, spec) } : pod;
}

function defaultedSpec(given: JsonObject): JsonObject {
  const spec = withoutFalse(given, ["hostNetwork", "hostPID", "hostIPC"]);
  const account = spec["serviceAccountName"] || spec["serviceAccount"];
  const filled = {
    ...podDefaults,
    ...spec,
    ...(account ? { serviceAccountName: account, serviceAccount: account } : {}),
    // kube-apiserver stores a negative time as 1.
    ...(isNegative(spec["terminationGracePeriodSeconds"]) ? { terminationGracePeriodSeconds: 1 } : {}),
    ...mapped(spec, "containers", (container) => setContainerDefaults(container, spec)),
    ...mapped(spec, "initContainers", (container) => setContainerDefaults(container, spec)),
    ...mapped(spec, "volumes", setVolumeDefaults),
  };
  // The same object where nothing changed, so that later comparisons end at once.
  return equalJson(filled, given) ? given : filled;
}

/** Go omits these fields when they are false. */
function withoutFalse(owner: JsonObject, keys: readonly string[]): JsonObject {
  if (!keys.some((key) => owner[key] === false)) return owner;
  return Object.fromEntries(Object.entries(owner).filter(([key, value]) => value !== false || !keys.includes(key)));
}

const isNegative = (value: unknown): boolean => typeof value === "number" && value < 0;

const podDefaults = {
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 30,
  dnsPolicy: "ClusterFirst",
  schedulerName: "default-scheduler",
  enableServiceLinks: true,
  securityContext: {},
};

function mapped(owner: JsonObject, key: string, change: (item: JsonObject) => JsonObject): JsonObject {
  const list = owner[key];
  if (!Array.isArray(list)) return {};
  return { [key]: list.map((item: unknown) => (isJsonObject(item) ? change(item) : item)) };
}

export function setContainerDefaults(given: JsonObject, { hostNetwork }: JsonObject): JsonObject {
  const container = withoutFalse(given, ["stdin", "stdinOnce", "tty"]);
  return {
    imagePullPolicy: pullPolicy(container["image"]),
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    ...container,
    ...requestsFromLimits(container["resources"]),
    // On the host's network, a port of the container is a port of the host.
    ...(hostNetwork === true
      ? mapped(container, "ports", (port) => ({ hostPort: port["containerPort"], ...port }))
      : {}),
  };
}

/** Images without a tag or with the tag `latest` are always pulled, because the image behind the name can change. */
function pullPolicy(image: unknown): string {
  if (typeof image !== "string" || image.includes("@")) return "IfNotPresent";
  const tag = /:([^/]+)$/.exec(image)?.[1];
  return tag === undefined || tag === "latest" ? "Always" : "IfNotPresent";
}

function requestsFromLimits(resources: unknown): JsonObject {
  if (!isJsonObject(resources) || !isJsonObject(resources["limits"])) return {};
  const requests = isJsonObject(resources["requests"]) ? resources["requests"] : {};
  return { resources: { ...resources, requests: { ...resources["limits"], ...requests } } };
}

function setVolumeDefaults(volume: JsonObject): JsonObject {
  const image = volume["image"];
  if (isJsonObject(image)) return { ...volume, image: { pullPolicy: pullPolicy(image["reference"]), ...image } };
  return Object.keys(volume).some((key) => key !== "name") ? volume : { ...volume, emptyDir: {} };
}

/** Sets the status of a new Pod. Binds it to the box's only node if that accepts it, which saves a write. */
export function preparePod(pod: ApiObject, context: AdmissionContext, interner: Interner): ApiObject {
  const { nodeName, find, nowMs, allocations } = context;
  const given = pod["spec"];
  if (!isJsonObject(given)) return pod;
  const more = referenced(pod, given, find);
  const extended = (added: JsonObject): JsonObject => extendedSpec(given, added, interner);
  const status = { phase: "Pending", qosClass: interner.memo(qosClass, given) };
  if (objectsAt(given, "schedulingGates").length > 0) {
    const why = "Scheduling is blocked due to non-empty scheduling gates";
    const conditions = [unscheduled("SchedulingGated", why, nowMs)];
    return { ...pod, spec: extended(more), status: { ...status, conditions } };
  }
  const named = given["nodeName"] ?? "";
  if (nodeName === undefined || (named !== "" && named !== nodeName)) return { ...pod, spec: extended(more), status };
  const { namespace = "" } = pod.metadata;
  const whole = extended({ ...more, nodeName });
  if (named !== "") {
    const shortages = allocations?.shortages(namespace, allocations.requestsOf(whole), find("nodes", nodeName)) ?? [];
    return { ...pod, spec: whole, status: { ...status, ...rejection(shortages) } };
  }
  const problem = placementProblem({ namespace, spec: whole }, find("nodes", nodeName), allocations);
  if (problem === undefined) return { ...pod, spec: whole, status };
  const conditions = [unscheduled("Unschedulable", problem, nowMs)];
  return { ...pod, spec: extended(more), status: { ...status, conditions } };
}

/** The condition of a Pod that is not bound. */
export const unscheduled = (reason: string, message: string, nowMs: number): JsonObject => ({
  type: "PodScheduled",
  status: "False",
  reason,
  message,
  lastProbeTime: null,
  lastTransitionTime: timestamp(nowMs),
});

/** The spec with more members. An interned spec gets an interned result, because Pods are extended by the same members. */
function extendedSpec(spec: JsonObject, more: JsonObject, interner: Interner): JsonObject {
  if (!interner.isInterned(spec)) return { ...spec, ...more };
  const known = interner.memo(newExtensions, spec);
  const key = JSON.stringify(more);
  const made = known.get(key);
  if (made !== undefined) return made;
  if (known.size >= maxExtensions) known.clear();
  const fresh = interner.adopt({ ...spec, ...more });
  known.set(key, fresh);
  return fresh;
}

const newExtensions = (): Map<string, JsonObject> => new Map();
/** Extended specs that are kept for one spec. */
const maxExtensions = 16;

/** A write to the status cannot change the QoS class, which follows from the spec, or the owner references. */
export function keepFixedStatus(pod: ApiObject, old: ApiObject): ApiObject {
  const { ownerReferences: _given, ...metadata } = pod.metadata;
  const { ownerReferences } = old.metadata;
  const status = isJsonObject(pod["status"]) ? pod["status"] : {};
  const qosClass = stringAt(old, "status", "qosClass");
  return {
    ...pod,
    metadata: ownerReferences === undefined ? metadata : { ...metadata, ownerReferences },
    status: qosClass === undefined ? status : { ...status, qosClass },
  };
}
