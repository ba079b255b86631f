import { isReservedKey } from "./labels.ts";

/** The Pod of a Sandbox, when its name is not that of the Sandbox. */
export const podNameAnnotation = "agents.x-k8s.io/pod-name";
/** The keys of the labels copied to a Pod from the pod template, sorted and joined by commas. */
export const propagatedLabelsAnnotation = "agents.x-k8s.io/propagated-labels";
/** The keys of the annotations copied to a Pod from the pod template, sorted and joined by commas. */
export const propagatedAnnotationsAnnotation = "agents.x-k8s.io/propagated-annotations";
/** The name of the template a Sandbox was made from. */
export const sandboxTemplateRefAnnotation = "agents.x-k8s.io/sandbox-template-ref";
/** The pool member that a claim has committed to. */
export const sandboxNameAnnotation = "agents.x-k8s.io/sandbox-name";
/** When a controller first saw a claim. RFC 3339 with nanoseconds. */
export const controllerFirstObservedAtAnnotation = "agents.x-k8s.io/controller-first-observed-at";
/** When a claim was first ready, with nanoseconds; `unknown` when nobody was there to see it. */
export const claimFirstReadyAtAnnotation = "agents.x-k8s.io/claim-first-ready-at";
/** When a client asked for a claim, by its own clock. */
export const clientFirstRequestedAtAnnotation = "agents.x-k8s.io/client-first-requested-at";
/** When an external admission webhook first saw a claim. */
export const webhookFirstObservedAtAnnotation = "agents.x-k8s.io/webhook-first-observed-at";
/** The trace that a claim or Sandbox belongs to: W3C headers as a JSON map. */
export const traceContextAnnotation = "opentelemetry.io/trace-context";
/** `"true"` on the Pod of an unclaimed pool member: the cluster autoscaler may evict it. */
export const safeToEvictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/** Reserved; never written and never read. */
export const creationLatencyRecordedAnnotation = "agents.x-k8s.io/creation-latency-recorded";
/** When traffic or a command last touched a Sandbox, as the router and the node report it. RFC 3339. */
export const lastActivityAnnotation = "agents.x-k8s.io/last-activity";

/** `"true"` on a pool made only so that an old claim has one to refer to. */
export const migrationShadowAnnotation = "agents.x-k8s.io/migration-shadow";
/** The template that such a pool stands for. */
export const migrationSourceTemplateAnnotation = "agents.x-k8s.io/migration-source-template";
/** Written to have an object stored again, in the storage version. */
export const storageMigratedAtAnnotation = "agents.x-k8s.io/storage-migrated-at";

/** On a v1beta1 Sandbox: what v1alpha1 said that v1beta1 cannot. */
export const v1alpha1SandboxStateAnnotation = "api.agents.x-k8s.io/v1alpha1-sandbox-state";
/** On a v1beta1 SandboxClaim: the template and the pool choice of v1alpha1. */
export const v1alpha1SandboxClaimStateAnnotation = "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state";
/** On a v1beta1 SandboxTemplate: left by other implementations, dropped unread. */
export const v1alpha1SandboxTemplateStateAnnotation = "api.agents.x-k8s.io/v1alpha1-sandboxtemplate-state";
/** On a v1beta1 SandboxWarmPool: left by other implementations, dropped unread. */
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

/** Whether an annotation of a pod template is skipped, never copied to a Pod: the system's own, and the trace. */
export function isReservedAnnotation(key: string): boolean {
  return isReservedKey(key) || key === traceContextAnnotation;
}
