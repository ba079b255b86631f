import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, conditionOf, makeSandbox } from "./saved-pods.ts";

const counter = "i=0; while :; do i=$((i+1)); echo $i; echo $i > /dev/shm/count; sleep 0.02; done";

describe.skipIf(cannotRun)("saving and restoring a Pod", () => {
  let box: TestBox;

  beforeAll(async () => {
    box = await openTestBox();
  });
  afterAll(() => box[Symbol.asyncDispose]());

  test("a counter in memory continues in the next Pod", async () => {
    const containers = [{ name: "main", image: "host", command: ["sh", "-c", counter] }];
    const sandbox = await makeSandbox(box, "counter", { containers });
    const started = await sandbox.start();
    expect(answerOf(started, "agents.x-k8s.io/Saveable")).toBe("True");
    const saved = await sandbox.save();
    expect(conditionOf(saved, "agents.x-k8s.io/Saved")).toMatchObject({
      status: "True",
      message: expect.stringMatching(/^\d+ bytes$/),
    });
    expect(answerOf(saved, "Ready")).toBe("Suspending");
    const before = (await box.log("counter")).trim().split("\n").map(Number);
    await sandbox.remove();
    const restored = await sandbox.restore();
    const { status, message } = conditionOf(restored, "PodRestored") ?? {};
    expect({ status, message }).toEqual({ status: "True", message: "restored from suspension/0" });
    const now = Number(await box.shell("counter", "cat /dev/shm/count"));
    expect(now).toBeGreaterThanOrEqual(before.length);
    const after = (await box.log("counter")).trim().split("\n").map(Number);
    const all = [...before, ...after];
    expect(all).toEqual(all.map((_, index) => index + 1));
  });
});
