import { findCondition, type Sandbox } from "@agent-sandbox/api";
import { clockErrorMs as askServer, type ClockPorts } from "../server-clock.ts";
import { shutdownAt } from "./expiry.ts";

/** How much this machine's clock is ahead of the API server's, where that matters: when a Sandbox's time seems to be up. */
export async function clockErrorMs(ports: ClockPorts, sandbox: Sandbox): Promise<number> {
  const expiresAt = shutdownAt(sandbox);
  const isMarked = findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired";
  if (expiresAt === undefined || ports.now() < expiresAt || isMarked) return 0;
  return sandbox.metadata.deletionTimestamp === undefined ? askServer(ports, sandbox) : 0;
}
