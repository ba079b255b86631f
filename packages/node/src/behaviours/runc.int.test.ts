import type { Container } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods } from "../resources.ts";
import { cannotRun } from "../testing/runtimes.ts";
import { isReady, namespace } from "../testing/test-api.ts";
import { openTestBox, statusOf, type TestBox } from "../testing/test-box.ts";

const idle = (name: string): Container => ({
  name,
  image: "host",
  command: ["sh", "-c", 'trap "exit 0" TERM; while :; do sleep 0.1; done'],
});

/** What containers share of the machine's kernel; gVisor's sandboxes have a kernel of their own. */
describe.skipIf(cannotRun)("what containers share with runc", () => {
  const runtimeClassName = "runc";
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox();
  });
  afterAll(() => box[Symbol.asyncDispose]());

  test("System V IPC", async () => {
    await box.create("ipc", { spec: { runtimeClassName, containers: [idle("a"), idle("b")] } });
    await box.api.until("ipc", isReady);
    await box.shell("ipc", "ipcmk -Q", "a");
    expect(await box.shell("ipc", "ipcs -q | grep -c 0x", "b")).toBe("1");
    await box.remove("ipc");
  });

  test("the processes of a container, with one that is added to look into it", async () => {
    await box.create("watched", { spec: { runtimeClassName, containers: [idle("main")] } });
    const before = await box.api.until("watched", isReady);
    const command = ["sh", "-c", "hostname; ps ax | grep -q '[t]rap' && echo seen"];
    const ephemeralContainers = [{ name: "look", image: "host", command, targetContainerName: "main" }];
    const body = { spec: { ephemeralContainers } };
    await box.api.client.patch(pods, { namespace, name: "watched" }, { type: "merge", body });
    const pod = await box.api.until("watched", (one) => statusOf(one, "look")?.state?.terminated !== undefined);
    expect([isReady(pod), statusOf(pod)?.containerID]).toEqual([true, statusOf(before)?.containerID]);
    expect(await box.log("watched", "look")).toBe("watched\nseen\n");
    await box.remove("watched");
  });
});
