import { setTimeout as sleep } from "node:timers/promises";
import type { Container } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { containerId, layoutOf } from "../../src/layout.ts";
import { openRuntimes } from "../../src/runtime/open-runtimes.ts";
import { pauseContainer, resumePod } from "../../src/state/take-snapshot.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isReady } from "../../src/testing/test-api.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";

const idle = (name: string): Container => ({
  name,
  image: "host",
  command: ["sh", "-c", 'trap "exit 0" TERM; sleep 1000 & wait'],
});

/** Only for runc: gVisor's sandboxes have their own kernel. */
describe.skipIf(cannotRun)("namespaces shared with runc", () => {
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
});

test.skipIf(cannotRun)("under runc, a command that begins while a snapshot is taken waits for its end", async () => {
  await using box = await openTestBox();
  await box.create("paused", { spec: { runtimeClassName: "runc", containers: [idle("main")] } });
  const pod = await box.api.until("paused", isReady);
  const layout = layoutOf(box.dataDir);
  const { present } = await openRuntimes({ runDir: layout.runDir, cgroupParent: layout.cgroupParent, tryFirst: false });
  const runc = present.get("runc");
  if (runc === undefined) throw new Error("runc is missing");
  const id = containerId(pod.metadata?.uid ?? "", "main", 0);
  await pauseContainer(runc, id);
  const order: string[] = [];
  const said = box.shell("paused", "echo done").then((text) => order.push(text));
  await sleep(500);
  order.push("continued");
  await resumePod({ runtimes: present }, "runc", [id]);
  await said;
  expect(order).toEqual(["continued", "done"]);
});
