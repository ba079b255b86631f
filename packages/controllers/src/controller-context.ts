import type { Fence, Informers, Logger, Scheduler } from "@agent-sandbox/kube";

/** What every controller of a process shares. */
export interface ControllerContext {
  readonly informers: Informers;
  readonly fence: Fence;
  readonly log?: Logger;
  /** Default: the system's. */
  readonly scheduler?: Scheduler;
}
