import { NodeError } from "../errors.ts";
import type { Action, Observed } from "./decide.ts";
import type { Machine } from "./machine.ts";
import type { PodRecord } from "./record.ts";
import { recordExit, signalContainer, startContainer } from "./run-container.ts";
import { release, setUp, tearDown } from "./sandbox.ts";

/** Carries out one action on the machine; what concerns the API is the caller's. */
export async function perform(
  machine: Machine,
  action: Exclude<Action, { do: "delete-from-api" }>,
  seen: Observed,
): Promise<void> {
  const { pod } = seen;
  switch (action.do) {
    case "set-up":
      if (pod !== undefined) await setUp(machine, pod, seen.record);
      return;
    case "start-container":
      if (pod !== undefined)
        await startContainer(machine, pod, recordOf(seen), { name: action.container, attempt: action.attempt });
      return;
    case "record-exit":
      return recordExit(machine, recordOf(seen), action.container, action.record);
    case "signal":
      return signalContainer(machine, recordOf(seen), action.container, action.signal);
    case "release":
      return release(machine, recordOf(seen));
    case "tear-down":
      return tearDown(machine, recordOf(seen));
    default:
      return action satisfies never;
  }
}

function recordOf(seen: Observed): PodRecord {
  if (seen.record === undefined) throw new NodeError("SandboxError", "Cannot act on a Pod without a record");
  return seen.record;
}
