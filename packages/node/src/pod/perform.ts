import { releaseSavedPod } from "../state/end-saved-pod.ts";
import { writeContainer } from "./create-container.ts";
import type { Action, Observed } from "./decide.ts";
import type { Effects } from "./effects.ts";
import { startHolder } from "./holder.ts";
import { runHook } from "./hooks.ts";
import { isStateAction, performState } from "./perform-state.ts";
import { podOf, recordOf } from "./present.ts";
import { pullImage } from "./pull-image.ts";
import { recordFailure } from "./record-failure.ts";
import { release, setUp, syncVolumes, tearDown } from "./sandbox.ts";
import { startContainer } from "./start-container.ts";
import { beginStop, recordExit, signalContainer } from "./stop-container.ts";
import { volumeImages } from "./volume-images.ts";

/** Performs one action on the machine. The caller performs the actions on the API. */
export async function perform(
  effects: Effects,
  action: Exclude<Action, { do: "delete-from-api" }>,
  observed: Observed,
): Promise<void> {
  const { machine } = effects;
  if (isStateAction(action)) return performState(effects, action, observed);
  switch (action.do) {
    case "set-up": {
      const images = await volumeImages(effects, podOf(observed), observed.record);
      return images && setUp(effects, podOf(observed), { before: observed.record, images });
    }
    case "sync-volumes": {
      const images = await volumeImages(effects, podOf(observed), observed.record);
      return images && syncVolumes(effects, podOf(observed), { record: recordOf(observed), images });
    }
    case "start-holder":
      return startHolder(effects, podOf(observed), recordOf(observed), action.attempt);
    case "pull-image":
      return pullImage(effects, podOf(observed), recordOf(observed), action.container);
    case "start-container": {
      const { container: name, attempt } = action;
      return startContainer(effects, podOf(observed), recordOf(observed), { name, attempt });
    }
    case "record-failure":
      return recordFailure(effects, podOf(observed), recordOf(observed), action);
    case "run-hook":
      return runHook(effects, podOf(observed), recordOf(observed), action);
    case "record-hooked": {
      const kept = recordOf(observed).containers[action.container];
      if (kept?.run === undefined) return;
      return writeContainer(machine, recordOf(observed), action.container, {
        ...kept,
        run: { ...kept.run, hooked: true },
      });
    }
    case "record-exit":
      return recordExit(effects, observed.pod, recordOf(observed), action);
    case "stop-container":
      return beginStop(effects, observed.pod, recordOf(observed), action);
    case "signal":
      return signalContainer(machine, recordOf(observed), action.container, action.signal);
    case "record-verdict": {
      const { reason, message } = action.verdict;
      await machine.records.write({ ...recordOf(observed), verdict: action.verdict });
      return effects.recordEvent(podOf(observed), { type: "Warning", reason, text: message });
    }
    case "release":
      return release(effects, recordOf(observed));
    case "tear-down":
      if (recordOf(observed).save?.step === "ended") await releaseSavedPod(machine, recordOf(observed));
      return tearDown(machine, recordOf(observed));
    default:
      return action satisfies never;
  }
}
