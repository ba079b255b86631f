import type { IncomingMessage, ServerResponse } from "node:http";
import type { Directory } from "../../cluster/directory.ts";
import type { Environments } from "../../cluster/environment.ts";
import type { SandboxTokens } from "../../ports.ts";
import type { Runtime, Target } from "../../runtime/runtime.ts";
import type { Users } from "../../runtime/users.ts";
import type { OpenPorts } from "../open-ports.ts";
import type { PolledWatchers } from "./polled-watchers.ts";

/** What the handlers of the daemon's protocol work with. */
export interface EnvdContext {
  readonly directory: Directory;
  readonly environments: Environments;
  readonly tokens: SandboxTokens;
  readonly runtime: Runtime;
  readonly users: Users;
  readonly watchers: PolledWatchers;
  readonly openPorts: OpenPorts;
}

/** A request to the daemon of one sandbox, whose token was verified. */
export interface EnvdCall {
  readonly context: EnvdContext;
  readonly target: Target;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}
