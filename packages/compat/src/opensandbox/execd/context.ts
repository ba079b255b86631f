import type { Directory } from "../../cluster/directory.ts";
import type { Environments } from "../../cluster/environment.ts";
import type { SandboxTokens } from "../../ports.ts";
import type { SandboxCall, SandboxCallContext } from "../../runtime/sandbox-call.ts";
import type { Users } from "../../runtime/users.ts";
import type { RunningCode } from "./running-code.ts";
import type { WorkFolders } from "./work-folders.ts";

/** What the handlers of the daemon's protocol work with. */
export interface ExecdContext extends SandboxCallContext {
  readonly directory: Directory;
  readonly environments: Environments;
  readonly tokens: SandboxTokens;
  readonly users: Users;
  readonly runningCode: RunningCode;
  readonly workFolders: WorkFolders;
}

/** A request to the daemon of one sandbox, whose token was verified. */
export type ExecdCall = SandboxCall<ExecdContext>;
