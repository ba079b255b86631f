import { type ApiObject, isJsonObject, type JsonObject } from "../../api-object.ts";
import type { AdmissionContext } from "../definition.ts";
import { qosClass } from "./qos-class.ts";

/** Fills in what kube-apiserver fills in on every Pod. Fields of a wrong type are left for the validation to name. */
export function setPodDefaults(pod: ApiObject): ApiObject {
  const spec = pod["spec"];
  if (!isJsonObject(spec)) return pod;
  return {
    ...pod,
    spec: {
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      schedulerName: "default-scheduler",
      enableServiceLinks: true,
      securityContext: {},
      serviceAccountName: "default",
      ...spec,
      ...mapped(spec, "containers", setContainerDefaults),
      ...mapped(spec, "initContainers", setContainerDefaults),
      ...mapped(spec, "volumes", setVolumeDefaults),
    },
  };
}

function mapped(owner: JsonObject, key: string, change: (item: JsonObject) => JsonObject): JsonObject {
  const list = owner[key];
  if (!Array.isArray(list)) return {};
  return { [key]: list.map((item: unknown) => (isJsonObject(item) ? change(item) : item)) };
}

function setContainerDefaults(container: JsonObject): JsonObject {
  return {
    imagePullPolicy: pullPolicy(container["image"]),
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    resources: {},
    ...container,
    ...mapped(container, "ports", (port) => ({ protocol: "TCP", ...port })),
    ...mapped(container, "env", setEnvDefaults),
    ...probeDefaults(container),
  };
}

/** An image without a tag, or with the tag `latest`, can change under its name. */
function pullPolicy(image: unknown): string {
  if (typeof image !== "string" || image.includes("@")) return "IfNotPresent";
  const tag = /:([^/]+)$/.exec(image)?.[1];
  return tag === undefined || tag === "latest" ? "Always" : "IfNotPresent";
}

function setEnvDefaults(variable: JsonObject): JsonObject {
  const source = variable["valueFrom"];
  if (!isJsonObject(source) || !isJsonObject(source["fieldRef"])) return variable;
  return { ...variable, valueFrom: { ...source, fieldRef: { apiVersion: "v1", ...source["fieldRef"] } } };
}

function probeDefaults(container: JsonObject): JsonObject {
  const probes: Record<string, JsonObject> = {};
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container[name];
    if (isJsonObject(probe)) probes[name] = setProbeDefaults(probe);
  }
  return probes;
}

function setProbeDefaults(probe: JsonObject): JsonObject {
  const http = probe["httpGet"];
  return {
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
    ...probe,
    ...(isJsonObject(http) ? { httpGet: { path: "/", scheme: "HTTP", ...http } } : {}),
  };
}

const modeDefaults = ["configMap", "secret", "projected", "downwardAPI"];

function setVolumeDefaults(volume: JsonObject): JsonObject {
  const result: Record<string, unknown> = { ...volume };
  for (const source of modeDefaults) {
    const value = volume[source];
    if (isJsonObject(value)) result[source] = { defaultMode: 0o644, ...value };
  }
  const hostPath = volume["hostPath"];
  if (isJsonObject(hostPath)) result["hostPath"] = { type: "", ...hostPath };
  return result;
}

/** A new Pod waits to be started; where there is only one node, it is bound to it at once, which saves a write. */
export function preparePod(pod: ApiObject, { nodeName }: AdmissionContext): ApiObject {
  const spec = pod["spec"];
  const status = { phase: "Pending", qosClass: qosClass(spec) };
  if (!isJsonObject(spec) || nodeName === undefined || (spec["nodeName"] ?? "") !== "") return { ...pod, status };
  return { ...pod, spec: { ...spec, nodeName }, status };
}
