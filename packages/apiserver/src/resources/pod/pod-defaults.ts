import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import { timestamp } from "../../clock.ts";
import { equalJson } from "../../json.ts";
import { placementProblem } from "../../placement/placement-problem.ts";
import { isShared, makeOnceOfShared, onceForShared, shareNew } from "../../shared-values.ts";
import type { AdmissionContext } from "../definition.ts";
import { referenced } from "./pod-references.ts";
import { qosClass } from "./qos-class.ts";

/**
 * Fills in what kube-apiserver fills in on every Pod and what depends on other fields; the rest is in the schema. Fields
 * of a wrong type are left for the validation to name.
 */
export function setPodDefaults(pod: ApiObject): ApiObject {
  const { spec } = pod;
  return isJsonObject(spec) ? { ...pod, spec: filledSpec(spec) } : pod;
}

const filledSpec = makeOnceOfShared((given): JsonObject => {
  const spec = withoutFalse(given, ["hostNetwork", "hostPID", "hostIPC"]);
  const account = spec["serviceAccountName"] || spec["serviceAccount"];
  const filled = {
    ...podDefaults,
    ...spec,
    ...(account ? { serviceAccountName: account, serviceAccount: account } : {}),
    // A negative time has always been taken for the shortest.
    ...(isNegative(spec["terminationGracePeriodSeconds"]) ? { terminationGracePeriodSeconds: 1 } : {}),
    ...mapped(spec, "containers", (container) => setContainerDefaults(container, spec)),
    ...mapped(spec, "initContainers", (container) => setContainerDefaults(container, spec)),
    ...mapped(spec, "volumes", setVolumeDefaults),
  };
  // Nothing need be compared that is the same.
  return equalJson(filled, given) ? given : filled;
});

/** Go leaves out what is false, but for the few fields where that says something. */
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
    // On the host's network a port of the container is one of the host.
    ...(hostNetwork === true
      ? mapped(container, "ports", (port) => ({ hostPort: port["containerPort"], ...port }))
      : {}),
  };
}

/** An image without a tag, or with the tag `latest`, can change under its name. */
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

/** A new Pod waits to be started; where there is only one node, it is bound to it at once, which saves a write. */
export function preparePod(pod: ApiObject, { nodeName, find, nowMs }: AdmissionContext): ApiObject {
  const given = pod["spec"];
  if (!isJsonObject(given)) return pod;
  const more = referenced(pod, given, find);
  const status = { phase: "Pending", qosClass: qosClassOf(given) };
  if (objectsAt(given, "schedulingGates").length > 0) {
    const why = "Scheduling is blocked due to non-empty scheduling gates";
    const conditions = [unscheduled("SchedulingGated", why, nowMs)];
    return { ...pod, spec: extended(given, more), status: { ...status, conditions } };
  }
  const bound = (given["nodeName"] ?? "") !== "";
  if (nodeName === undefined || bound) return { ...pod, spec: extended(given, more), status };
  const tolerations = more["tolerations"] ?? given["tolerations"];
  const problem = placementProblem({ tolerations }, find("nodes", nodeName));
  if (problem === undefined) return { ...pod, spec: extended(given, { ...more, nodeName }), status };
  const conditions = [unscheduled("Unschedulable", problem, nowMs)];
  return { ...pod, spec: extended(given, more), status: { ...status, conditions } };
}

const unscheduled = (reason: string, message: string, nowMs: number): JsonObject => ({
  type: "PodScheduled",
  status: "False",
  reason,
  message,
  lastProbeTime: null,
  lastTransitionTime: timestamp(nowMs),
});

const qosClassOf = onceForShared(qosClass);

/** A specification with more members. What is shared stays so: it is always extended by the same few. */
function extended(spec: JsonObject, more: JsonObject): JsonObject {
  if (!isShared(spec)) return { ...spec, ...more };
  const known = extensions(spec);
  const key = JSON.stringify(more);
  const made = known.get(key);
  if (made !== undefined) return made;
  if (known.size >= maxExtensions) known.clear();
  const fresh = shareNew({ ...spec, ...more });
  known.set(key, fresh);
  return fresh;
}

const extensions = onceForShared(() => new Map<string, JsonObject>());
const maxExtensions = 16;

/** What a Pod is entitled to follows from its specification, and who owns it is not for those who report on it. */
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
