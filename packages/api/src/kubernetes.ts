/**
 * Kubernetes' own types in wire shape, re-exported in one place so that the rest of the repository does not know which
 * package they come from. Fields newer than that package are added here.
 */

export type { Lease } from "kubernetes-types/coordination/v1.js";
export type {
  ConfigMap,
  Container,
  ContainerStatus,
  Event as CoreEvent,
  Namespace,
  Node,
  ObjectReference,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
  Secret,
  Service,
  ServicePort,
  ServiceSpec,
} from "kubernetes-types/core/v1.js";
export type { ListMeta, ObjectMeta, OwnerReference, Status } from "kubernetes-types/meta/v1.js";
export type {
  NetworkPolicy,
  NetworkPolicyEgressRule,
  NetworkPolicyIngressRule,
} from "kubernetes-types/networking/v1.js";
