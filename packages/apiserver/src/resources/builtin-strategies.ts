import { isJsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { configMapStrategy } from "./config-map.ts";
import { crdStrategy } from "./crd/crd-strategy.ts";
import type { Strategy } from "./definition.ts";
import { eventStrategy } from "./event.ts";
import { forbidden, immutable, required } from "./field-problems.ts";
import { labelField, oneOf, optionalOneOf } from "./field-rules.ts";
import { namespaceStrategy } from "./namespace.ts";
import { networkPolicyStrategy } from "./network-policy.ts";
import { podStrategy } from "./pod/pod-strategy.ts";
import { clusterRoleBindingStrategy, clusterRoleStrategy, roleBindingStrategy, roleStrategy } from "./rbac.ts";
import { secretStrategy } from "./secret.ts";
import { serviceStrategy } from "./service/service-strategy.ts";
import { persistentVolumeStrategy, volumeClaimStrategy } from "./volume-claim.ts";

const nodeStrategy: Strategy = {
  keepsStatus: true,
  setDefaults: (node) => {
    const status = node["status"];
    if (!isJsonObject(status) || status["capacity"] === undefined) return node;
    return { ...node, status: { allocatable: status["capacity"], ...status } };
  },
  selectableFields: { "spec.unschedulable": (node) => String(valueAt(node, "spec", "unschedulable") === true) },
};

const runtimeClassStrategy: Strategy = {
  validate: (runtimeClass, old) => [
    ...labelField(runtimeClass, "handler", ""),
    ...(old === undefined || old["handler"] === runtimeClass["handler"]
      ? []
      : [immutable("handler", runtimeClass["handler"])]),
  ],
};

const storageClassStrategy: Strategy = {
  validate: (storageClass, old) => [
    ...((stringAt(storageClass, "provisioner") ?? "") === "" ? [required("provisioner")] : []),
    ...optionalOneOf(storageClass, "reclaimPolicy", "", ["Delete", "Retain"]),
    ...(old === undefined ? [] : ["provisioner", "reclaimPolicy", "volumeBindingMode"])
      .filter((key) => storageClass[key] !== old?.[key])
      .map((key) => immutable(key, storageClass[key])),
  ],
};

const priorityClassStrategy: Strategy = {
  validate: (priorityClass, old) =>
    old === undefined || priorityClass["value"] === old["value"]
      ? []
      : [forbidden("value", "may not be changed in an update.")],
};

const endpointSliceStrategy: Strategy = {
  validate: (slice) => [
    ...oneOf(slice, "addressType", "", ["FQDN", "IPv4", "IPv6"]),
    ...objectsAt(slice, "endpoints").flatMap(({ addresses }, at) =>
      Array.isArray(addresses) && addresses.length > 0
        ? []
        : [required(`endpoints[${at}].addresses`, "must contain at least 1 address")],
    ),
  ],
};

const leaseStrategy: Strategy = {
  validate: (lease) => {
    const seconds = valueAt(lease, "spec", "leaseDurationSeconds");
    if (typeof seconds !== "number" || seconds > 0) return [];
    const message = `Invalid value: ${seconds}: must be greater than 0`;
    return [{ field: "spec.leaseDurationSeconds", reason: "FieldValueInvalid", message }];
  },
};

/** What is particular to the built-in kinds, by their plural. Kinds that are not here have nothing particular. */
export const builtinStrategies: { readonly [plural: string]: Strategy | undefined } = {
  clusterrolebindings: clusterRoleBindingStrategy,
  clusterroles: clusterRoleStrategy,
  configmaps: configMapStrategy,
  customresourcedefinitions: crdStrategy,
  endpointslices: endpointSliceStrategy,
  events: eventStrategy,
  leases: leaseStrategy,
  namespaces: namespaceStrategy,
  networkpolicies: networkPolicyStrategy,
  nodes: nodeStrategy,
  persistentvolumeclaims: volumeClaimStrategy,
  persistentvolumes: persistentVolumeStrategy,
  pods: podStrategy,
  priorityclasses: priorityClassStrategy,
  rolebindings: roleBindingStrategy,
  roles: roleStrategy,
  runtimeclasses: runtimeClassStrategy,
  secrets: secretStrategy,
  services: serviceStrategy,
  storageclasses: storageClassStrategy,
};
