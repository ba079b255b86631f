import { type ApiObject, isJsonObject, stringAt, valueAt } from "../api-object.ts";
import type { Column } from "../resources/definition.ts";
import { ageOf } from "./age.ts";
import { podStatus, readyContainers, restarts } from "./pod-status.ts";

type Cell = Column["cell"];

const text = (name: string, cell: Cell, priority = 0): Column => ({ name, type: "string", priority, cell });
const none = "<none>";
const at =
  (...path: string[]): Cell =>
  (object) =>
    stringAt(object, ...path) ?? none;

export const ageColumn: Column = text("Age", ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs));

const countKeys =
  (...fields: string[]): Cell =>
  (object) =>
    fields.reduce((sum, field) => sum + Object.keys(object[field] ?? {}).length, 0);

const dataColumn: Column = { name: "Data", type: "integer", cell: countKeys("data", "binaryData") };

const joined = (values: unknown): string => (Array.isArray(values) && values.length > 0 ? values.join(",") : none);

export const builtinColumns: Readonly<Record<string, readonly Column[]>> = {
  pods: [
    text("Ready", readyContainers),
    text("Status", podStatus),
    text("Restarts", restarts),
    ageColumn,
    text("IP", at("status", "podIP"), 1),
    text("Node", at("spec", "nodeName"), 1),
    text("Nominated Node", at("status", "nominatedNodeName"), 1),
    text("Readiness Gates", () => none, 1),
  ],
  nodes: [
    text("Status", nodeStatus),
    text("Roles", nodeRoles),
    ageColumn,
    text("Version", at("status", "nodeInfo", "kubeletVersion")),
    text("Internal-IP", nodeAddress("InternalIP"), 1),
    text("External-IP", nodeAddress("ExternalIP"), 1),
    text("OS-Image", at("status", "nodeInfo", "osImage"), 1),
    text("Kernel-Version", at("status", "nodeInfo", "kernelVersion"), 1),
    text("Container-Runtime", at("status", "nodeInfo", "containerRuntimeVersion"), 1),
  ],
  namespaces: [text("Status", at("status", "phase")), ageColumn],
  events: [
    text("Last Seen", lastSeen),
    text("Type", at("type")),
    text("Reason", at("reason")),
    text("Object", (event) => objectReference(valueAt(event, "involvedObject"))),
    text("Source", at("source", "component"), 1),
    text("Message", (event) => (stringAt(event, "message") ?? "").trim()),
  ],
  leases: [text("Holder", at("spec", "holderIdentity")), ageColumn],
  services: [
    text("Type", at("spec", "type")),
    text("Cluster-IP", at("spec", "clusterIP")),
    text("External-IP", (service) => joined(valueAt(service, "spec", "externalIPs"))),
    text("Port(s)", servicePorts),
    ageColumn,
    text("Selector", (service) => pairs(valueAt(service, "spec", "selector")), 1),
  ],
  persistentvolumeclaims: [
    text("Status", at("status", "phase")),
    text("Volume", (claim) => stringAt(claim, "spec", "volumeName") ?? ""),
    text("Capacity", (claim) => stringAt(claim, "status", "capacity", "storage") ?? ""),
    text("Access Modes", (claim) => accessModes(valueAt(claim, "status", "accessModes"))),
    text("StorageClass", (claim) => stringAt(claim, "spec", "storageClassName") ?? ""),
    ageColumn,
    text("VolumeMode", at("spec", "volumeMode"), 1),
  ],
  configmaps: [dataColumn, ageColumn],
  secrets: [text("Type", at("type")), dataColumn, ageColumn],
  serviceaccounts: [{ name: "Secrets", type: "integer", cell: countKeys("secrets") }, ageColumn],
  networkpolicies: [
    text("Pod-Selector", (policy) => pairs(valueAt(policy, "spec", "podSelector", "matchLabels"))),
    ageColumn,
  ],
  runtimeclasses: [text("Handler", at("handler")), ageColumn],
};

function conditionOf(object: ApiObject, type: string): unknown {
  const conditions = valueAt(object, "status", "conditions");
  return Array.isArray(conditions) ? conditions.find((each) => valueAt(each, "type") === type) : undefined;
}

function nodeStatus(node: ApiObject): string {
  const ready = valueAt(conditionOf(node, "Ready"), "status");
  const status = ready === "True" ? "Ready" : ready === undefined ? "Unknown" : "NotReady";
  return valueAt(node, "spec", "unschedulable") === true ? `${status},SchedulingDisabled` : status;
}

function nodeRoles({ metadata }: ApiObject): string {
  const prefix = "node-role.kubernetes.io/";
  const labels = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(prefix));
  return joined(labels.map((label) => label.slice(prefix.length)).sort());
}

function nodeAddress(type: string): Cell {
  return (node) => {
    const addresses = valueAt(node, "status", "addresses");
    const found: unknown = Array.isArray(addresses)
      ? addresses.find((each) => valueAt(each, "type") === type)
      : undefined;
    return stringAt(found, "address") ?? none;
  };
}

function lastSeen(event: ApiObject, nowMs: number): string {
  const times = [
    stringAt(event, "series", "lastObservedTime"),
    stringAt(event, "lastTimestamp"),
    stringAt(event, "eventTime"),
  ];
  return ageOf(times.find((time) => time !== undefined) ?? event.metadata.creationTimestamp, nowMs);
}

function objectReference(reference: unknown): string {
  return `${(stringAt(reference, "kind") ?? "").toLowerCase()}/${stringAt(reference, "name") ?? ""}`;
}

function servicePorts(service: ApiObject): string {
  const ports = valueAt(service, "spec", "ports");
  if (!Array.isArray(ports)) return none;
  return joined(ports.map((port) => `${Number(valueAt(port, "port"))}/${stringAt(port, "protocol") ?? "TCP"}`));
}

function pairs(map: unknown): string {
  return isJsonObject(map) ? joined(Object.entries(map).map(([key, value]) => `${key}=${String(value)}`)) : none;
}

const shortModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

function accessModes(modes: unknown): string {
  return Array.isArray(modes) ? modes.map((mode) => shortModes[String(mode)] ?? String(mode)).join(",") : "";
}
