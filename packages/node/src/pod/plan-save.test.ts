import type { Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import type { Observed } from "./decide.ts";
import type { TaskState } from "./observed.ts";
import { isBeingSaved, planSave } from "./plan-save.ts";
import type { PodRecord, SaveRecord } from "./record.ts";

const rules = { canSave: ["gvisor"], defaultRuntime: "gvisor" } as unknown as Observed["rules"];

function podWith(save: string | undefined, isDeleted = false): Pod {
  const annotations = save === undefined ? {} : { "agents.x-k8s.io/save": save };
  return {
    metadata: { annotations, ...(isDeleted && { deletionTimestamp: "2026-01-01T00:00:00Z" }) },
    spec: { containers: [] },
  };
}

function plan(
  pod: Pod,
  save: SaveRecord | undefined,
  more: { task?: TaskState; kill?: TaskState; keptFor?: string; runtime?: string } = {},
) {
  const { task, kill, keptFor = "sandbox", runtime = "gvisor" } = more;
  const record = { containers: {}, keptFor, ...(save && { save }) } as unknown as PodRecord;
  const tasks = { ...(task && { "save:3": task }), ...(kill && { kill }) };
  const observed = { rules: { ...rules, defaultRuntime: runtime }, tasks } as unknown as Observed;
  return planSave(pod, record, observed);
}

const saving: SaveRecord = { step: "saving", epoch: 3 };
const failed: SaveRecord = { step: "failed", epoch: 3, reason: "SaveFailed", message: "no" };
const ended: SaveRecord = { step: "ended", epoch: 3, sizeBytes: 9 };
const reported: Pod = {
  ...podWith("3"),
  status: { conditions: [{ type: "agents.x-k8s.io/Saved", status: "True" }] },
};
const none = { actions: [], holds: false };
const wait = { actions: [], holds: true };
const act = (action: object) => ({ actions: [action], holds: true });

describe("the steps of a save", () => {
  test.for([
    ["nothing without a request", plan(podWith(undefined), undefined), none],
    ["nothing for a request that names no epoch", plan(podWith("x"), undefined), none],
    ["a request begins a save", plan(podWith("3"), undefined), act({ do: "save", epoch: 3 })],
    ["a deleted Pod is not saved", plan(podWith("3", true), undefined), none],
    [
      "a runtime without checkpoints refuses",
      plan(podWith("3"), undefined, { runtime: "runc" }),
      act({
        do: "fail-save",
        epoch: 3,
        reason: "RuntimeCannotSave",
        message: 'Runtime "runc" cannot save the memory of a Pod',
      }),
    ],
    [
      "a Pod whose files are not kept refuses",
      plan(podWith("3"), undefined, { keptFor: "" }),
      act({
        do: "fail-save",
        epoch: 3,
        reason: "SaveFailed",
        message: "No Sandbox controls this Pod, or the Pod's root filesystem is not kept",
      }),
    ],
    ["a save that a crash interrupted is begun again", plan(podWith("3"), saving), act({ do: "save", epoch: 3 })],
    ["a save goes on", plan(podWith("3"), saving, { task: { state: "running" } }), wait],
    [
      "a complete image is recorded",
      plan(podWith("3"), saving, { task: { state: "done", result: "99" } }),
      act({ do: "record-saved", epoch: 3, sizeBytes: 99 }),
    ],
    [
      "a failure keeps its reason",
      plan(podWith("3"), saving, { task: { state: "failed", reason: "QuotaExceeded", message: "full" } }),
      act({ do: "fail-save", epoch: 3, reason: "QuotaExceeded", message: "full" }),
    ],
    [
      "a full disk is a matter of quota",
      plan(podWith("3"), saving, {
        task: { state: "failed", reason: "RunContainerError", message: "write: no space left on device" },
      }),
      act({ do: "fail-save", epoch: 3, reason: "QuotaExceeded", message: "write: no space left on device" }),
    ],
    [
      "any other failure is SaveFailed",
      plan(podWith("3"), saving, { task: { state: "failed", reason: "Error", message: "oops" } }),
      act({ do: "fail-save", epoch: 3, reason: "SaveFailed", message: "oops" }),
    ],
    ["a withdrawn request is abandoned", plan(podWith(undefined), saving), act({ do: "abandon-save" })],
    ["a request for another epoch abandons the first", plan(podWith("4"), saving), act({ do: "abandon-save" })],
    [
      "a Pod that is deleted during its save continues first, so that it can end in order",
      plan(podWith("3", true), saving, { task: { state: "done", result: "99" } }),
      act({ do: "abandon-save" }),
    ],
    [
      "a Pod whose complete image is recorded ends",
      plan(podWith("3"), { step: "saved", epoch: 3, sizeBytes: 9 }),
      act({ do: "end-saved" }),
    ],
    [
      "a withdrawn request comes too late for a complete image",
      plan(podWith(undefined), { step: "saved", epoch: 3, sizeBytes: 9 }),
      act({ do: "end-saved" }),
    ],
    ["an ended Pod is reported before its processes are killed", plan(podWith("3"), ended), wait],
    ["the processes of an ended Pod are killed once", plan(reported, ended), act({ do: "kill-saved" })],
    ["an ended Pod waits for its deletion", plan(reported, ended, { kill: { state: "running" } }), wait],
    ["an ended Pod is removed without a grace period", plan(podWith("3", true), ended), act({ do: "tear-down" })],
    ["a failed save is not tried again by itself", plan(podWith("3"), failed), none],
    ["a failure is forgotten with its request", plan(podWith(undefined), failed), act({ do: "forget-save" })],
    ["a deleted Pod with a failed save ends as usual", plan(podWith("3", true), failed), none],
  ] as const)("%s", ([, found, expected]) => {
    expect(found).toEqual(expected);
  });

  test("a Pod serves until it is being saved, and again after a failure", () => {
    const found = [undefined, saving, ended, failed].map((save) => isBeingSaved(save === undefined ? {} : { save }));
    expect(found).toEqual([false, true, true, false]);
  });
});
