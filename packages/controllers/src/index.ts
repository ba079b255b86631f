export { podCache, pods, secrets, serviceCache, services, volumeClaimCache, volumeClaims } from "./child-caches.ts";
export { type ClaimControllerOptions, startClaimController } from "./claim/controller.ts";
export type { ClaimMetrics, ClaimServed, ClaimStarted } from "./claim/metrics.ts";
export * from "./manager/index.ts";
export { PassTrace, type Tracing } from "./pass-trace.ts";
export { type SandboxControllerOptions, startSandboxController } from "./sandbox/controller.ts";
export { restartCountAnnotation } from "./sandbox/recovery.ts";
export type { InjectedRuntime } from "./sandbox/settings.ts";
export {
  type ControllerName,
  type ControllersMetrics,
  type ControllersOptions,
  type RunningControllers,
  startControllers,
} from "./start-controllers.ts";
export { startTemplateController, type TemplateControllerOptions } from "./template/controller.ts";
export type { RouterPlace } from "./template/desired-policy.ts";
export { startWarmPoolController, type WarmPoolControllerOptions } from "./warm-pool/controller.ts";
export { defaultPoolSettings, type PoolSettings } from "./warm-pool/settings.ts";
