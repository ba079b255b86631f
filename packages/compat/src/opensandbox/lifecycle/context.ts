import type { Logger } from "@agent-sandbox/kube";
import type { Directory } from "../../cluster/directory.ts";
import type { Environments } from "../../cluster/environment.ts";
import type { ApiCall } from "../../control/route.ts";
import type { Callers, SandboxTokens } from "../../ports.ts";

/** What the handlers of the lifecycle API work with. */
export interface LifecycleContext {
  readonly directory: Directory;
  readonly environments: Environments;
  readonly tokens: SandboxTokens;
  readonly callers: Callers;
  /** The address of this listener as `host:port`, for requests that do not name a usable one. */
  readonly address: () => string;
  readonly log: Logger;
  readonly now: () => number;
}

export type LifecycleCall = ApiCall<LifecycleContext>;

/** The body of lifecycle requests: metadata and variables with some room. */
export const maxLifecycleBytes: number = 2 * 1024 * 1024;
