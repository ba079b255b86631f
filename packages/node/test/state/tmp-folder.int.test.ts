import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { hasPhase, openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { makeSandbox } from "./saved-pods.ts";

const stay = 'trap "exit 0" TERM; sleep 1000000 & wait';

describe.skipIf(cannotRun).for(testedRuntimes)("/tmp of a Sandbox under %s", (runtime) => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox({ diskCheckMs: 500 });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const specOf = (limit: string) => ({
    runtimeClassName: runtime,
    restartPolicy: "Never" as const,
    containers: [
      {
        name: "main",
        image: "host",
        command: ["sh", "-c", stay],
        resources: { limits: { "ephemeral-storage": limit } },
      },
    ],
  });

  test("survives a suspension that keeps files only, with its links, modes and owners", async () => {
    const sandbox = await makeSandbox(box, "kept", specOf("100Mi"));
    await sandbox.start();
    const make = "mkdir -m 1750 /tmp/folder; echo kept >/tmp/folder/file; ln -s file /tmp/folder/link";
    await box.shell("kept", `${make}; chown -R 65534:65534 /tmp/folder; head -c 3000000 /dev/urandom >/tmp/data`);
    const look = "cat /tmp/folder/link; stat -c '%a %u %F' /tmp /tmp/folder; sha256sum /tmp/data";
    const before = await box.shell("kept", look);
    expect(before).toMatch(/^kept\n1777 0 directory\n1750 65534 directory\n[0-9a-f]{64} /);
    for (const _suspension of [1, 2]) {
      await sandbox.remove();
      await sandbox.start();
      expect(await box.shell("kept", look)).toBe(before);
    }
    await sandbox.remove();
  });

  test("counts against the disk limit with what it had before the suspension", async () => {
    const sandbox = await makeSandbox(box, "counted", specOf("6Mi"));
    await sandbox.start();
    await box.shell("counted", "head -c 4000000 /dev/urandom >/tmp/before");
    await sandbox.remove();
    await sandbox.start();
    // Neither the earlier nor the later file is above the limit alone.
    await box.shell("counted", "head -c 4000000 /dev/urandom >/tmp/after");
    const pod = await box.api.until("counted", hasPhase("Failed"));
    expect(pod.status).toMatchObject({
      reason: "Evicted",
      message: 'Container main exceeded its local ephemeral storage limit "6Mi". ',
    });
    await sandbox.remove();
  });
});
