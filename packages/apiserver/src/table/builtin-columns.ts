import { type ApiObject, valueAt } from "../api-object.ts";
import type { Column } from "../resources/definition.ts";
import { ageColumn, at, createdColumn, keysOf, orEmpty, pairs, terminatingOr, text } from "./column.ts";
import { endpointAddresses, sliceEndpoints, slicePorts } from "./endpoint-columns.ts";
import { eventColumns } from "./event-columns.ts";
import { nodeColumns } from "./node-columns.ts";
import { podStatus, readinessGates, readyContainers, restarts } from "./pod-status.ts";
import { bindingColumns } from "./rbac-columns.ts";
import { externalAddresses, servicePorts } from "./service-columns.ts";
import { accessModes, attributesClass, claimOf } from "./volume-columns.ts";

const defaultClass = "storageclass.kubernetes.io/is-default-class";

function storageClassName({ metadata }: ApiObject): string {
  return `${metadata.name}${metadata.annotations?.[defaultClass] === "true" ? " (default)" : ""}`;
}

/** The columns of `kubectl get` for built-in kinds, after the name. */
export const builtinColumns: { readonly [plural: string]: readonly Column[] | undefined } = {
  clusterrolebindings: bindingColumns,
  clusterroles: [createdColumn],
  configmaps: [text("Data", (map) => keysOf(map, "data") + keysOf(map, "binaryData")), ageColumn],
  customresourcedefinitions: [createdColumn],
  endpoints: [text("Endpoints", endpointAddresses), ageColumn],
  endpointslices: [
    text("AddressType", at("addressType")),
    text("Ports", slicePorts),
    text("Endpoints", sliceEndpoints),
    ageColumn,
  ],
  events: eventColumns,
  leases: [text("Holder", orEmpty("spec", "holderIdentity")), ageColumn],
  namespaces: [text("Status", at("status", "phase")), ageColumn],
  networkpolicies: [
    text("Pod-Selector", (policy) => pairs(valueAt(policy, "spec", "podSelector", "matchLabels"))),
    ageColumn,
  ],
  nodes: nodeColumns,
  persistentvolumeclaims: [
    text("Status", terminatingOr(at("status", "phase"))),
    text("Volume", orEmpty("spec", "volumeName")),
    text("Capacity", orEmpty("status", "capacity", "storage")),
    text("Access Modes", (claim) => accessModes(valueAt(claim, "status", "accessModes"))),
    text("StorageClass", orEmpty("spec", "storageClassName")),
    text("VolumeAttributesClass", attributesClass),
    ageColumn,
    text("VolumeMode", at("spec", "volumeMode"), 1),
  ],
  persistentvolumes: [
    text("Capacity", orEmpty("spec", "capacity", "storage")),
    text("Access Modes", (volume) => accessModes(valueAt(volume, "spec", "accessModes"))),
    text("Reclaim Policy", orEmpty("spec", "persistentVolumeReclaimPolicy")),
    text("Status", terminatingOr(orEmpty("status", "phase"))),
    text("Claim", claimOf),
    text("StorageClass", orEmpty("spec", "storageClassName")),
    text("VolumeAttributesClass", attributesClass),
    text("Reason", orEmpty("status", "reason")),
    ageColumn,
    text("VolumeMode", at("spec", "volumeMode"), 1),
  ],
  pods: [
    text("Ready", readyContainers),
    text("Status", podStatus),
    text("Restarts", restarts),
    ageColumn,
    text("IP", at("status", "podIP"), 1),
    text("Node", at("spec", "nodeName"), 1),
    text("Nominated Node", at("status", "nominatedNodeName"), 1),
    text("Readiness Gates", readinessGates, 1),
  ],
  priorityclasses: [
    { name: "Value", type: "integer", cell: (each) => Number(each["value"] ?? 0) },
    { name: "Global-Default", type: "boolean", cell: (each) => each["globalDefault"] === true },
    ageColumn,
    text("PreemptionPolicy", at("preemptionPolicy")),
  ],
  rolebindings: bindingColumns,
  roles: [createdColumn],
  runtimeclasses: [text("Handler", at("handler")), ageColumn],
  secrets: [text("Type", orEmpty("type")), text("Data", (secret) => keysOf(secret, "data")), ageColumn],
  serviceaccounts: [ageColumn],
  services: [
    text("Type", orEmpty("spec", "type")),
    text("Cluster-IP", at("spec", "clusterIP")),
    text("External-IP", externalAddresses),
    text("Port(s)", servicePorts),
    ageColumn,
    text("Selector", (service) => pairs(valueAt(service, "spec", "selector")), 1),
  ],
  storageclasses: [
    { ...text("Name", storageClassName), isName: true },
    text("Provisioner", orEmpty("provisioner")),
    text("ReclaimPolicy", orEmpty("reclaimPolicy")),
    text("VolumeBindingMode", at("volumeBindingMode")),
    text("AllowVolumeExpansion", (each) => each["allowVolumeExpansion"] === true),
    ageColumn,
  ],
};
