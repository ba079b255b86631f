import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf, podPaths } from "../../src/layout.ts";
import { detectCgroups } from "../../src/system/cgroups.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady } from "../../src/testing/test-api.ts";
import { openTestBox, statusOf, type TestBox } from "../../src/testing/test-box.ts";

const canary = "canary-of-the-box-0b5c1d";
const writeCanary = `printf %s ${canary} >/secret; exec sleep 31337`;

describe.skipIf(cannotRun).for(testedRuntimes)("limits of a sandbox under %s", (runtime) => {
  let box: TestBox;

  beforeAll(async () => {
    box = await openTestBox({
      defaultRuntime: runtime,
      defaults: { pids: 300, diskBytes: 50_000_000 },
      diskCheckMs: 500,
    });
    await box.create("other", {
      spec: { containers: [{ name: "main", image: "host", command: ["sh", "-c", writeCanary] }] },
    });
    await box.api.until("other", isReady);
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  /** Checks that the other Pod still runs with its files. */
  const expectOthersWell = async (): Promise<void> => {
    expect(await box.shell("other", "cat /secret; cat /proc/1/cmdline | tr '\\0' ' '")).toBe(
      `${canary}sleep 31337 `.trim(),
    );
    expect(statusOf(box.api.read("other"))?.restartCount).toBe(0);
  };

  test("a fork bomb does not affect others", async () => {
    const script =
      "import os, time\nwhile True:\n  try:\n    if os.fork() == 0: time.sleep(1000)\n  except OSError: time.sleep(0.01)";
    await box.create("bomb", {
      spec: {
        restartPolicy: "Never",
        containers: [{ name: "main", image: "host", command: ["python3", "-c", script] }],
      },
    });
    await box.api.until("bomb", (pod) => isReady(pod) || pod?.status?.phase === "Failed");
    const { uid = "" } = box.api.read("bomb")?.metadata ?? {};
    expect(["at its limit", "dead"]).toContain(await outcome(box, uid));
    await expectOthersWell();
    await box.remove("bomb", 0);
  });

  test("a container that allocates without end is OOMKilled and does not affect others", async () => {
    const script = "b = []\nwhile True: b.append(bytearray(10**7))";
    const resources = { limits: { memory: "200Mi" } };
    await box.create("glutton", {
      spec: {
        restartPolicy: "Never",
        containers: [{ name: "main", image: "host", command: ["python3", "-c", script], resources }],
      },
    });
    const pod = await box.api.until("glutton", (one) => one?.status?.phase === "Failed");
    expect(statusOf(pod)?.state?.terminated).toMatchObject({ reason: "OOMKilled" });
    await expectOthersWell();
    await box.remove("glutton", 0);
  });

  test("a Pod that fills the disk is evicted and does not affect others", async () => {
    await box.create("hoarder", {
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "main",
            image: "host",
            command: ["sh", "-c", "while cat /usr/bin/python3 >>/file; do sleep 0.01; done"],
          },
        ],
      },
    });
    const pod = await box.api.until("hoarder", (one) => one?.status?.phase === "Failed");
    expect(pod.status).toMatchObject({ reason: "Evicted" });
    await expectOthersWell();
    await box.remove("hoarder", 0);
  });
});

/** Waits until a Pod's cgroup has refused a process, or the Pod has failed. */
async function outcome(box: TestBox, uid: string): Promise<"at its limit" | "dead"> {
  const cgroups = await detectCgroups();
  const file = join(cgroups.processFolder(podPaths(layoutOf(box.dataDir), uid).cgroup), "main", "pids.events");
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    const refusals = Number(/^max (\d+)/m.exec(text ?? "")?.[1] ?? 0);
    if (refusals > 0) return "at its limit";
    if (box.api.read("bomb")?.status?.phase === "Failed") return "dead";
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
