import { describe, expect, test } from "vitest";
import type { Pod } from "../kubernetes.ts";
import { continuesEpoch, isBeingSaved, savedEpoch } from "./saved-pod.ts";

const pod = (annotations: Record<string, string>, conditions: Record<string, string> = {}): Pod => ({
  metadata: { annotations },
  status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
});
const save = (epoch: string) => ({ "agents.x-k8s.io/save": epoch });
const restore = (image: string) => ({ "agents.x-k8s.io/restore": image });
const saved = (status: string) => ({ "agents.x-k8s.io/Saved": status });

describe("a Pod that is to be saved", () => {
  test.for([
    ["without a request", pod({}), false, undefined],
    ["when the driver has not answered", pod(save("3")), true, undefined],
    ["when the image is complete", pod(save("3"), saved("True")), true, 3],
    ["when the driver could not save it", pod(save("3"), saved("False")), false, undefined],
    ["when the driver is not certain", pod(save("3"), saved("Unknown")), true, undefined],
    ["when the epoch is not a number", pod(save("3x"), saved("True")), true, undefined],
    ["with a result and no request", pod({}, saved("True")), false, undefined],
  ] as const)("%s", ([, one, isSaving, epoch]) => {
    expect([isBeingSaved(one), savedEpoch(one)]).toEqual([isSaving, epoch]);
  });
});

describe("a Pod that follows a saved one", () => {
  const restored = (status: string) => ({ PodRestored: status });
  test.for([
    ["is restored", pod(restore("suspension/3"), restored("True")), true],
    ["is being restored", pod(restore("suspension/3")), undefined],
    ["could not be restored", pod(restore("suspension/3"), restored("False")), false],
    ["has memory of an earlier epoch", pod(restore("suspension/2"), restored("True")), false],
    ["has memory of a snapshot", pod(restore("snapshot/3"), restored("True")), false],
    ["starts from its files", pod({}), false],
    ["starts from its files and claims to be restored", pod({}, restored("True")), false],
  ] as const)("%s", ([, one, expected]) => {
    expect(continuesEpoch(one, 3)).toBe(expected);
  });
});
