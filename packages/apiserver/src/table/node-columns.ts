import { type ApiObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import type { Column } from "../resources/definition.ts";
import { ageColumn, type Cell, joined, none, orEmpty, text } from "./column.ts";

export const nodeColumns: readonly Column[] = [
  text("Status", nodeStatus),
  text("Roles", nodeRoles),
  ageColumn,
  text("Version", orEmpty("status", "nodeInfo", "kubeletVersion")),
  text("Internal-IP", nodeAddress("InternalIP"), 1),
  text("External-IP", nodeAddress("ExternalIP"), 1),
  text("OS-Image", reported("osImage"), 1),
  text("Kernel-Version", reported("kernelVersion"), 1),
  text("Container-Runtime", reported("containerRuntimeVersion"), 1),
];

function reported(field: string): Cell {
  return (node) => stringAt(node, "status", "nodeInfo", field) || "<unknown>";
}

function nodeStatus(node: ApiObject): string {
  const ready = objectsAt(node, "status", "conditions").find(({ type }) => type === "Ready")?.["status"];
  const status = ready === "True" ? "Ready" : ready === undefined ? "Unknown" : "NotReady";
  return valueAt(node, "spec", "unschedulable") === true ? `${status},SchedulingDisabled` : status;
}

function nodeRoles({ metadata }: ApiObject): string {
  const prefix = "node-role.kubernetes.io/";
  const labels = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(prefix));
  return joined(labels.map((label) => label.slice(prefix.length)).sort());
}

function nodeAddress(wanted: string): Cell {
  return (node) => {
    const found = objectsAt(node, "status", "addresses").find(({ type }) => type === wanted);
    return stringAt(found, "address") ?? none;
  };
}
