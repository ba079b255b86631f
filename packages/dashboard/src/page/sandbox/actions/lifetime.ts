/** When a sandbox is deleted, and later times to choose from. Pure. */
import type { Sandbox, SandboxClaim } from "@agent-sandbox/api";
import { ownerClaim } from "../origin.ts";

export function shutdownTime(sandbox: Sandbox, claim?: SandboxClaim): string | undefined {
  return ownerClaim(sandbox) === undefined ? sandbox.spec.shutdownTime : claim?.spec.lifecycle?.shutdownTime;
}

export const extensions: readonly (readonly [seconds: number, title: string])[] = [
  [900, "15 minutes"],
  [3600, "1 hour"],
  [8 * 3600, "8 hours"],
  [86_400, "1 day"],
  [7 * 86_400, "7 days"],
];

/** The API server takes whole seconds. */
export function timeIn(seconds: number, now: number): string {
  return new Date(Math.floor(now / 1000 + seconds) * 1000).toISOString().replace(".000", "");
}

/** The patch of the sandbox or of its claim. Without a time it is never deleted. The policy stays as it is if there was a time. */
export function lifetimePatch(sandbox: Sandbox, time: string | undefined, claim?: SandboxClaim): object {
  const before = shutdownTime(sandbox, claim);
  const policy = time !== undefined && before === undefined ? { shutdownPolicy: "Delete" } : {};
  const fields = { shutdownTime: time ?? null, ...policy };
  return ownerClaim(sandbox) === undefined ? { spec: fields } : { spec: { lifecycle: fields } };
}
