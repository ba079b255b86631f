import { restorePod } from "../state/restore-pod.ts";
import type { Action, Observed } from "./decide.ts";
import type { Effects } from "./effects.ts";
import { podOf, recordOf } from "./present.ts";
import { abandonSave, beginKill, beginSave, endSaved, failSave, forgetSave, recordSaved } from "./save-steps.ts";

const names = [
  "save",
  "record-saved",
  "fail-save",
  "abandon-save",
  "forget-save",
  "end-saved",
  "kill-saved",
  "restore",
] as const;

/** The actions about the memory of a Pod. */
type StateAction = Extract<Action, { do: (typeof names)[number] }>;

export function isStateAction(action: Action): action is StateAction {
  return names.some((name) => name === action.do);
}

export async function performState(effects: Effects, action: StateAction, observed: Observed): Promise<void> {
  const record = recordOf(observed);
  switch (action.do) {
    case "save":
      return beginSave(effects, podOf(observed), record, action.epoch);
    case "record-saved":
      return recordSaved(effects, podOf(observed), record, action);
    case "fail-save":
      return failSave(effects, podOf(observed), record, action);
    case "abandon-save":
      return abandonSave(effects, podOf(observed), record);
    case "forget-save":
      return forgetSave(effects.machine, record);
    case "end-saved":
      return endSaved(effects, podOf(observed), record);
    case "kill-saved":
      return beginKill(effects, record);
    case "restore":
      return restorePod(effects, podOf(observed), record);
    default:
      return action satisfies never;
  }
}
