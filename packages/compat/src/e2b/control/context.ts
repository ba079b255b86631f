import type { Client, Logger } from "@agent-sandbox/kube";
import type { Directory } from "../../cluster/directory.ts";
import type { Environments } from "../../cluster/environment.ts";
import type { ApiCall } from "../../control/route.ts";
import type { Callers, SandboxTokens } from "../../ports.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Users } from "../../runtime/users.ts";

/** What the handlers of the control API work with. */
export interface ControlContext {
  /** With the rights of this server, for the objects that only it reads. */
  readonly client: Client;
  readonly directory: Directory;
  readonly environments: Environments;
  readonly tokens: SandboxTokens;
  readonly callers: Callers;
  readonly runtime: Runtime;
  readonly users: Users;
  /** `<namespace>.<domain>` is the part of host names after the sandbox. May contain a port. */
  readonly domain: () => string;
  readonly maxTimeoutSeconds: number;
  readonly log: Logger;
  readonly now: () => number;
}

export type ControlCall = ApiCall<ControlContext>;

/** The body of control requests: metadata and variables with some room. */
export const maxControlBytes: number = 2 * 1024 * 1024;
