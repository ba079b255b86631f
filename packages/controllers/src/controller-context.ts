import type { ControllerPriority, Fence, Informers, Logger, Scheduler } from "@agent-sandbox/kube";

/** Shared by all controllers of a process. */
export interface ControllerContext {
  readonly informers: Informers;
  readonly fence: Fence;
  readonly log?: Logger;
  /** Default: the system clock. */
  readonly scheduler?: Scheduler;
  /** Gives claims priority over Sandboxes and pools while there are members for them. Default: no priority. */
  readonly priority?: ControllerPriority;
}
