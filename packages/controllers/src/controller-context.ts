import type { Fence, Informers, Logger, RightOfWay, Scheduler } from "@agent-sandbox/kube";

/** What every controller of a process shares. */
export interface ControllerContext {
  readonly informers: Informers;
  readonly fence: Fence;
  readonly log?: Logger;
  /** Default: the system's. */
  readonly scheduler?: Scheduler;
  /** Claims go first while there are members for them; Sandboxes and pools give way. Default: nobody does. */
  readonly rightOfWay?: RightOfWay;
}
