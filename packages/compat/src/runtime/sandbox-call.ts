import type { IncomingMessage, ServerResponse } from "node:http";
import type { OpenPorts } from "./open-ports.ts";
import type { Runtime, Target } from "./runtime.ts";

/** A request to a sandbox, whose token was verified. */
export interface SandboxCall<Context = SandboxCallContext> {
  readonly context: Context;
  readonly target: Target;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface SandboxCallContext {
  readonly runtime: Runtime;
  readonly openPorts: OpenPorts;
}
