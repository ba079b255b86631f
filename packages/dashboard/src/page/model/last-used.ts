/** When a sandbox was last used, as far as it is recorded. Pure. */
import { idleWindowMs, lastActivity, type Sandbox } from "@agent-sandbox/api";

export interface LastUsed {
  readonly at: string;
  /** It is recorded at most once in this time, so the sandbox may have been used since. */
  readonly everyMs: number;
}

/** Undefined if the sandbox was not used yet, or has no idle policy: its use is not recorded then. */
export function lastUsed(sandbox: Sandbox): LastUsed | undefined {
  const windowMs = idleWindowMs(sandbox);
  const at = lastActivity(sandbox) ?? sandbox.status?.lastActivityTime;
  return windowMs === undefined || at === undefined ? undefined : { at, everyMs: windowMs / 4 };
}
