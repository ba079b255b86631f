import type { Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { writeContainer } from "./create-container.ts";
import type { Action, Observed } from "./decide.ts";
import type { Effects } from "./effects.ts";
import { startHolder } from "./holder.ts";
import { runHook } from "./hooks.ts";
import { pullImage } from "./pull-image.ts";
import type { PodRecord } from "./record.ts";
import { recordFailure } from "./record-failure.ts";
import { release, setUp, syncVolumes, tearDown } from "./sandbox.ts";
import { startContainer } from "./start-container.ts";
import { beginStop, recordExit, signalContainer } from "./stop-container.ts";
import { volumeImages } from "./volume-images.ts";

/** Carries out one action on the machine; what concerns the API is the caller's. */
export async function perform(
  effects: Effects,
  action: Exclude<Action, { do: "delete-from-api" }>,
  seen: Observed,
): Promise<void> {
  const { machine } = effects;
  switch (action.do) {
    case "set-up": {
      const images = await volumeImages(effects, podOf(seen), seen.record);
      return images && setUp(effects, podOf(seen), { before: seen.record, images });
    }
    case "sync-volumes": {
      const images = await volumeImages(effects, podOf(seen), seen.record);
      return images && syncVolumes(effects, podOf(seen), { record: recordOf(seen), images });
    }
    case "start-holder":
      return startHolder(effects, podOf(seen), recordOf(seen), action.attempt);
    case "pull-image":
      return pullImage(effects, podOf(seen), recordOf(seen), action.container);
    case "start-container": {
      const { container: name, attempt } = action;
      return startContainer(effects, podOf(seen), recordOf(seen), { name, attempt });
    }
    case "record-failure":
      return recordFailure(effects, podOf(seen), recordOf(seen), action);
    case "run-hook":
      return runHook(effects, podOf(seen), recordOf(seen), action);
    case "record-hooked": {
      const kept = recordOf(seen).containers[action.container];
      if (kept?.run === undefined) return;
      return writeContainer(machine, recordOf(seen), action.container, { ...kept, run: { ...kept.run, hooked: true } });
    }
    case "record-exit":
      return recordExit(effects, seen.pod, recordOf(seen), action);
    case "stop-container":
      return beginStop(effects, seen.pod, recordOf(seen), action);
    case "signal":
      return signalContainer(machine, recordOf(seen), action.container, action.signal);
    case "record-verdict": {
      const { reason, message } = action.verdict;
      await machine.records.write({ ...recordOf(seen), verdict: action.verdict });
      return effects.tell(podOf(seen), { type: "Warning", reason, text: message });
    }
    case "release":
      return release(effects, recordOf(seen));
    case "tear-down":
      return tearDown(machine, recordOf(seen));
    default:
      return action satisfies never;
  }
}

function podOf({ pod }: Observed): Pod {
  if (pod === undefined) throw new NodeError("SandboxError", "Cannot act on a Pod that is gone");
  return pod;
}

function recordOf({ record }: Observed): PodRecord {
  if (record === undefined) throw new NodeError("SandboxError", "Cannot act on a Pod without a record");
  return record;
}
