import type { Directory } from "../../cluster/directory.ts";
import type { Environments } from "../../cluster/environment.ts";
import type { SandboxTokens } from "../../ports.ts";
import type { OpenPorts } from "../../runtime/open-ports.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { SandboxCall } from "../../runtime/sandbox-call.ts";
import type { Users } from "../../runtime/users.ts";
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
export type EnvdCall = SandboxCall<EnvdContext>;
