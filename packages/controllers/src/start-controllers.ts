import { type Client, EventRecorder, Fence, Informers, type Logger } from "@agent-sandbox/kube";
import { startClaimController } from "./claim/controller.ts";
import { startSandboxController } from "./sandbox/controller.ts";
import type { Settings } from "./sandbox/settings.ts";
import { startTemplateController } from "./template/controller.ts";
import { startWarmPoolController } from "./warm-pool/controller.ts";

export interface ControllersOptions {
  readonly client: Client;
  readonly log: Logger;
  /** Which process this is, for events. */
  readonly instance: string;
  readonly settings?: Partial<Settings>;
}

export interface RunningControllers extends AsyncDisposable {
  /** Settles when all of them have seen what there is. */
  readonly ready: Promise<void>;
}

/** Starts the four controllers on one set of caches and one fence. */
export function startControllers({ client, log, instance, settings }: ControllersOptions): RunningControllers {
  const owned = new AsyncDisposableStack();
  const informers = owned.use(new Informers({ client, log }));
  const fence = new Fence({ informers });
  const events = owned.use(new EventRecorder({ client, log, controller: "agent-sandbox-controller", instance }));
  const shared = { informers, fence, log, events };
  const controllers = [
    startSandboxController({ ...shared, ...settings }),
    startTemplateController({ informers, fence, log }),
    startWarmPoolController(shared),
    startClaimController(shared),
  ];
  for (const controller of controllers) owned.use(controller);
  const ready = Promise.all(controllers.map((controller) => controller.ready)).then(() => undefined);
  ready.catch(() => undefined);
  return { ready, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
