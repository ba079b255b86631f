import { isPodOfSandbox, type Pod, type Sandbox, trackedPodName } from "@agent-sandbox/api";
import { pods } from "../data/resources.ts";
import { useCan, useObject } from "../data/use-data.ts";

/** The Pod that the sandbox runs, if it has one. */
export function usePod(sandbox: Sandbox): Pod | undefined {
  const { namespace = "" } = sandbox.metadata;
  const canRead = useCan("watch", pods, { namespace });
  const { object } = useObject(canRead ? pods : undefined, { namespace, name: trackedPodName(sandbox) });
  return object !== undefined && isPodOfSandbox(sandbox, object) ? object : undefined;
}
