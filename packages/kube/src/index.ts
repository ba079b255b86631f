export { Fence, type FenceOptions } from "./cache/fence.ts";
export type { CacheUpdate, Informer, Scope, Subscriber } from "./cache/informer.ts";
export { dropManagedFields, type InformerOptions, Informers, type InformersOptions } from "./cache/informers.ts";
export type { Delta, Index, IndexFunction } from "./cache/store.ts";
export { type ClientOptions, createClient } from "./client/create-client.ts";
export type { ClusterAccess, Credential, CredentialSource, TlsSettings } from "./client/http/cluster-access.ts";
export { fixedCredential } from "./client/http/cluster-access.ts";
export { HttpTransport, type HttpTransportOptions } from "./client/http/http-transport.ts";
export type { RateLimit } from "./client/rate-limiter.ts";
export * from "./client.ts";
export * from "./clock.ts";
export { type CampaignOptions, campaign } from "./election/campaign.ts";
export type { Leadership } from "./election/leadership.ts";
export { whileLeading } from "./election/while-leading.ts";
export * from "./errors.ts";
export { EventRecorder, type EventRecorderOptions } from "./events/event-recorder.ts";
export { type EventRecord, type KubeEvent, kubeEvents } from "./events/kube-event.ts";
export { type KubeconfigOptions, loadDefault, loadKubeconfig } from "./kubeconfig/load.ts";
export type { LoadedAccess } from "./kubeconfig/loaded-access.ts";
export { FairShare } from "./limits/fair-share.ts";
export { KeyCounts } from "./limits/key-counts.ts";
export { childLogger, type Logger, silentLogger } from "./logger.ts";
export type * from "./pod-streams.ts";
export type { Backoff } from "./queue/backoff.ts";
export { ControllerPriority } from "./queue/controller-priority.ts";
export { type Scheduler, systemScheduler } from "./queue/scheduler.ts";
export type { AddOptions, Outcome, Priority, QueueMetrics } from "./queue/work-queue.ts";
export * from "./resource.ts";
export type * from "./router-forward.ts";
export {
  Controller,
  type ControllerOptions,
  following,
  type Reconciler,
  type Trigger,
  type WatchingOptions,
  watching,
  watchingOwned,
} from "./runner/controller.ts";
export { deferStatus } from "./runner/defer-status.ts";
export { controllerKey, controllerOf, isControlledBy } from "./runner/owner.ts";
export {
  type ActionFailure,
  type Decision,
  type PassEnd,
  type PassSpan,
  type ReconcilerOptions,
  reconciler,
  type Traced,
} from "./runner/reconciler.ts";
export {
  type Pass,
  type Reconcile,
  type Result,
  Runner,
  type RunnerMetrics,
  type RunnerOptions,
} from "./runner/runner.ts";
export { TerminalError } from "./runner/terminal-error.ts";
export type * from "./transport.ts";
export type { ChangeEvent } from "./watch/batch.ts";
export * from "./watch/follow.ts";
