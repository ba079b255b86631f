import { isJsonObject } from "../api-object.ts";
import type { Interner } from "../interner.ts";
import { priorityClassStrategy, runtimeClassStrategy, storageClassStrategy } from "./classes.ts";
import { configMapStrategy } from "./config-map.ts";
import { crdStrategy } from "./crd/crd-strategy.ts";
import type { Strategy } from "./definition.ts";
import { endpointSliceStrategy, endpointsStrategy } from "./endpoints.ts";
import { eventStrategy } from "./event.ts";
import { forbidden, invalidValue } from "./field-problems.ts";
import { notNegative } from "./field-rules.ts";
import { namespaceStrategy } from "./namespace.ts";
import { networkPolicyStrategy } from "./network-policy.ts";
import { nodeStrategy } from "./node.ts";
import { podStrategy } from "./pod/pod-strategy.ts";
import { clusterRoleBindingStrategy, clusterRoleStrategy, roleBindingStrategy, roleStrategy } from "./rbac.ts";
import { secretStrategy } from "./secret.ts";
import { serviceStrategy } from "./service/service-strategy.ts";
import { persistentVolumeStrategy, volumeClaimStrategy } from "./volume-claim.ts";

const leaseStrategy: Strategy = {
  validate: (lease) => {
    const spec = lease["spec"];
    if (!isJsonObject(spec)) return [];
    const { leaseDurationSeconds: seconds, preferredHolder = "", strategy = "" } = spec;
    return [
      ...(typeof seconds === "number" && seconds <= 0
        ? [invalidValue("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
        : []),
      ...notNegative(spec, "leaseTransitions", "spec"),
      ...(preferredHolder !== "" && strategy === ""
        ? [forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")]
        : []),
    ];
  },
};

/** The strategies of built-in kinds, by their plural. Other kinds need none. */
export const builtinStrategies = (interner: Interner): { readonly [plural: string]: Strategy | undefined } => ({
  clusterrolebindings: clusterRoleBindingStrategy,
  clusterroles: clusterRoleStrategy,
  configmaps: configMapStrategy,
  customresourcedefinitions: crdStrategy,
  endpoints: endpointsStrategy,
  endpointslices: endpointSliceStrategy,
  events: eventStrategy,
  leases: leaseStrategy,
  namespaces: namespaceStrategy,
  networkpolicies: networkPolicyStrategy,
  nodes: nodeStrategy,
  persistentvolumeclaims: volumeClaimStrategy,
  persistentvolumes: persistentVolumeStrategy,
  pods: podStrategy(interner),
  priorityclasses: priorityClassStrategy,
  rolebindings: roleBindingStrategy,
  roles: roleStrategy,
  runtimeclasses: runtimeClassStrategy,
  secrets: secretStrategy,
  services: serviceStrategy,
  storageclasses: storageClassStrategy,
});
