import type { Pod } from "@agent-sandbox/api";
import type { Termination } from "./record.ts";

export function restarts(pod: Pod, ended: Termination): boolean {
  const policy = pod.spec?.restartPolicy ?? "Always";
  return policy === "Always" || (policy === "OnFailure" && ended.exitCode !== 0);
}
