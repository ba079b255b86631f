export { podCache, pods, secrets, serviceCache, services, volumeClaimCache, volumeClaims } from "./child-caches.ts";
export { type SandboxControllerOptions, startSandboxController } from "./sandbox/controller.ts";
export { restartCountAnnotation } from "./sandbox/recovery.ts";
export type { InjectedRuntime } from "./sandbox/settings.ts";
export { startWarmPoolController, type WarmPoolControllerOptions } from "./warm-pool/controller.ts";
export { defaultPoolSettings, type PoolSettings } from "./warm-pool/observe.ts";
