import type { Pod } from "@agent-sandbox/api";
import type { Role } from "./members.ts";
import type { Termination } from "./record.ts";

/** Whether a container that ended this way starts again, as long as its Pod goes on. */
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
      // What a probe has killed has failed, whatever its exit code says.
      return policy === "Always" || (policy === "OnFailure" && (ended.exitCode !== 0 || ended.unhealthy === true));
    default:
      return role satisfies never;
  }
}
