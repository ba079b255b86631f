import { sandboxes } from "@agent-sandbox/api";
import {
  Controller,
  type Fence,
  type Informers,
  type Logger,
  objectKey,
  type Scheduler,
  watching,
} from "@agent-sandbox/kube";
import { pods, reconcileSandbox } from "./apply.ts";

export interface SandboxControllerOptions {
  readonly informers: Informers;
  readonly fence: Fence;
  readonly log?: Logger;
  /** Sandboxes worked on at the same time. Default 8. */
  readonly workers?: number;
  /** Default: the system's. */
  readonly scheduler?: Scheduler;
  /** Milliseconds since the epoch. Default: the machine's clock. */
  readonly now?: () => number;
}

/** Keeps each Sandbox's Pod, and its status, as its spec says. */
export function startSandboxController(options: SandboxControllerOptions): Controller {
  const { informers, fence, log, scheduler, workers = 8, now = Date.now } = options;
  const sandboxCache = informers.get(sandboxes);
  const podCache = informers.get(pods);
  return Controller.start({
    name: "sandbox",
    client: informers.client,
    fence,
    workers,
    primary: sandboxCache,
    // A Pod under a Sandbox's name matters to it, whoever owns it.
    triggers: [
      watching(podCache, (pod) => [objectKey(pod)], {
        when: (delta) => sandboxCache.get(objectKey(delta.new ?? delta.old ?? {})) !== undefined,
      }),
    ],
    ...(log && { log }),
    ...(scheduler && { scheduler }),
    reconcile: async (key, { client }) => {
      const sandbox = sandboxCache.get(key);
      if (sandbox !== undefined) await reconcileSandbox(client, { sandbox, pod: podCache.get(key) }, now);
    },
  });
}
