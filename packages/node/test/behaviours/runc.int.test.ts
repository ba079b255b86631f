import type { Container } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
