import { isReservedKey } from "./labels.ts";

/** On a Sandbox: the name of its Pod, if that differs from the Sandbox's own name. */
export const podNameAnnotation = "agents.x-k8s.io/pod-name";
/** The keys of the labels copied to a Pod from the pod template, sorted and joined by commas. */
export const propagatedLabelsAnnotation = "agents.x-k8s.io/propagated-labels";
/** The keys of the annotations copied to a Pod from the pod template, sorted and joined by commas. */
export const propagatedAnnotationsAnnotation = "agents.x-k8s.io/propagated-annotations";
/** On a Pod: the Sandbox's generation and a hash of its spec when the Pod was created. */
export const podSpecHashAnnotation = "agents.x-k8s.io/pod-spec-hash";
/** On a Sandbox: the name of the template that it was created from. */
export const sandboxTemplateRefAnnotation = "agents.x-k8s.io/sandbox-template-ref";
/** On a claim: the name of the pool member that it adopts. */
export const sandboxNameAnnotation = "agents.x-k8s.io/sandbox-name";
/** When a controller first observed a claim. RFC 3339 with nanoseconds. */
export const controllerFirstObservedAtAnnotation = "agents.x-k8s.io/controller-first-observed-at";
/** When a claim first became ready, with nanoseconds; `unknown` if no controller was running at that time. */
export const claimFirstReadyAtAnnotation = "agents.x-k8s.io/claim-first-ready-at";
/** When a client requested a claim, by the client's clock. */
export const clientFirstRequestedAtAnnotation = "agents.x-k8s.io/client-first-requested-at";
/** When an external admission webhook first observed a claim. */
export const webhookFirstObservedAtAnnotation = "agents.x-k8s.io/webhook-first-observed-at";
/** The trace that a claim or Sandbox belongs to: W3C headers as a JSON map. */
export const traceContextAnnotation = "opentelemetry.io/trace-context";
/** `"true"` on the Pod of an unclaimed pool member: the cluster autoscaler may evict it. */
export const safeToEvictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/** Reserved; never written and never read. */
export const creationLatencyRecordedAnnotation = "agents.x-k8s.io/creation-latency-recorded";
/** On a Sandbox: when it was last used, as the router records it. RFC 3339. */
export const lastActivityAnnotation = "agents.x-k8s.io/last-activity";
/** On a Sandbox: when the controller suspends it. RFC 3339. The suspension removes it. */
export const suspendAtAnnotation = "agents.x-k8s.io/suspend-at";
/** On a Sandbox: for how many seconds it runs after each resume. The controller then sets `suspend-at`. */
export const runSecondsAnnotation = "agents.x-k8s.io/run-seconds";

/** `"true"` on a pool that was created only so that a converted v1alpha1 claim has a pool to refer to. */
export const migrationShadowAnnotation = "agents.x-k8s.io/migration-shadow";
/** On such a pool: the template that the v1alpha1 claim named. */
export const migrationSourceTemplateAnnotation = "agents.x-k8s.io/migration-source-template";
/** Written to make the API server store an object again, in the storage version. */
export const storageMigratedAtAnnotation = "agents.x-k8s.io/storage-migrated-at";

/** On a v1beta1 Sandbox: the v1alpha1 state that v1beta1 cannot express. */
export const v1alpha1SandboxStateAnnotation = "api.agents.x-k8s.io/v1alpha1-sandbox-state";
/** On a v1beta1 SandboxClaim: the template and the pool choice of v1alpha1. */
export const v1alpha1SandboxClaimStateAnnotation = "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state";
/** On a v1beta1 SandboxTemplate: written by other implementations; removed without being read. */
export const v1alpha1SandboxTemplateStateAnnotation = "api.agents.x-k8s.io/v1alpha1-sandboxtemplate-state";
/** On a v1beta1 SandboxWarmPool: written by other implementations; removed without being read. */
export const v1alpha1SandboxWarmPoolStateAnnotation = "api.agents.x-k8s.io/v1alpha1-sandboxwarmpool-state";
/** On a v1alpha1 SandboxTemplate: its `volumeClaimTemplatesPolicy`. */
export const v1beta1VolumeClaimTemplatesPolicyAnnotation = "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy";
/** On a v1alpha1 Sandbox: the fields that only v1beta1 has. */
export const v1beta1SandboxStateAnnotation = "api.agents.x-k8s.io/v1beta1-sandbox-state";
/** On a v1alpha1 SandboxClaim: the fields that only v1beta1 has. */
export const v1beta1SandboxClaimStateAnnotation = "api.agents.x-k8s.io/v1beta1-sandboxclaim-state";
/** On a v1alpha1 SandboxTemplate: the fields that only v1beta1 has. */
export const v1beta1SandboxTemplateStateAnnotation = "api.agents.x-k8s.io/v1beta1-sandboxtemplate-state";
/** On a v1alpha1 SandboxWarmPool: the fields that only v1beta1 has. */
export const v1beta1SandboxWarmPoolStateAnnotation = "api.agents.x-k8s.io/v1beta1-sandboxwarmpool-state";

/** Whether an annotation of a pod template is reserved for the system and therefore not copied to the Pod. */
export function isReservedAnnotation(key: string): boolean {
  return isReservedKey(key) || key === traceContextAnnotation;
}
/** On the Pod template of a Sandbox: the PodSnapshot that its next Pod is restored from, instead of the newest. */
export const podSnapshotNameAnnotation = "podsnapshot.gke.io/ps-name";
/** On a PodSnapshot: the name of the Pod that it was taken of. */
export const originPodAnnotation = "podsnapshot.gke.io/origin-pod";
