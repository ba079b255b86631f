import type { Pod } from "@agent-sandbox/api";
import type { Role } from "./members.ts";
import type { Termination } from "./record.ts";

/** Whether a container that ended this way restarts, unless the whole Pod ends. */
export function restarts(pod: Pod, role: Role, ended: Termination): boolean {
  if (ended.replaced) return true;
  const policy = pod.spec?.restartPolicy ?? "Always";
  switch (role) {
    case "sidecar":
      return true;
    case "ephemeral":
      return false;
    case "init":
      return policy !== "Never" && ended.exitCode !== 0;
    case "main":
      // A container that failed its probes has failed even if it exits with 0.
      return policy === "Always" || (policy === "OnFailure" && (ended.exitCode !== 0 || ended.unhealthy === true));
    default:
      return role satisfies never;
  }
}
