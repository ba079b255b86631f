import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Sandbox, type SandboxSnapshot, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { createNode, type EmbeddedNode } from "../../src/create-node.ts";
import { layoutOf } from "../../src/layout.ts";
import { openMachine } from "../../src/machine-setup.ts";
import { firstContainer } from "../../src/pod/first-container.ts";
import { pods } from "../../src/resources.ts";
import { snapshotsFolder } from "../../src/state/snapshot-store.ts";
import { pauseContainer } from "../../src/state/take-snapshot.ts";
import { namesIn } from "../../src/system/folders.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isReady, keepingMetadata, namespace, nodeName, openTestApi } from "../../src/testing/test-api.ts";
import { soon } from "../../src/testing/test-box.ts";
import { counter } from "./counter.ts";

describe.skipIf(cannotRun)("a node that was killed", () => {
  test.for(["gvisor", "runc"])(
    "in the middle of a snapshot continues the paused Pod of %s and removes the partial snapshot",
    async (runtimeClassName, { onTestFinished }) => {
      const dataDir = await mkdtemp(join(tmpdir(), "node-int-"));
      const api = openTestApi();
      const start = (): Promise<EmbeddedNode> =>
        createNode({ client: api.client, nodeName, dataDir, allowedRuntimes: ["runc"] });
      let node = await start();
      onTestFinished(async () => {
        await node.teardown();
        await rm(dataDir, { recursive: true, force: true });
      }, 120_000);
      const sandbox = await api.client.create(sandboxes, {
        metadata: { namespace, name: "box" },
        spec: { podTemplate: { spec: { containers: [] } } },
      } as unknown as Sandbox);
      const containers = [{ name: "main", image: "host", command: counter() }];
      await api.client.create(pods, {
        metadata: { namespace, name: "box", ...keepingMetadata(sandbox) },
        spec: { nodeName, containers, runtimeClassName },
      });
      const pod = await api.until("box", isReady);
      const lines = async (): Promise<number> => {
        const log = await node.podStreams.logs({
          namespace,
          pod: "box",
          follow: false,
          previous: false,
          timestamps: false,
        });
        return (await text(log)).trim().split("\n").length;
      };
      await node.stop();
      await pauseAsIfKilled(dataDir, pod.metadata?.uid ?? "");

      node = await start();
      await node.ready;
      const before = await lines();
      await expect.poll(lines, soon).toBeGreaterThan(before + 5);
      expect(await namesIn(snapshotsFolder(layoutOf(dataDir)))).toEqual([]);
      await api.client.create(sandboxSnapshots, {
        metadata: { namespace, name: "s" },
        spec: { sandboxRef: { name: "box" } },
      } as SandboxSnapshot);
      await expect
        .poll(() => api.server.read(sandboxSnapshots, { namespace, name: "s" })?.status?.conditions, soon)
        .toMatchObject([{ type: "Ready", status: "True" }]);
    },
  );
});

/** Leaves the machine as a node does that is killed after it has paused a Pod for a snapshot. */
async function pauseAsIfKilled(dataDir: string, uid: string): Promise<void> {
  const machine = await openMachine({ dataDir, allowedRuntimes: ["runc"] });
  try {
    const record = await machine.records.read(uid);
    if (record === undefined) throw new Error("The Pod has no record");
    const name = firstContainer(record);
    const { runtime = "", attempt = 0 } = record.containers[name] ?? {};
    const id = `${uid}_${name}_${attempt}`;
    await machine.snapshots.begin("0f8fad5b-d9cb-469f-a165-70867728950e", { podUid: uid, runtime, paused: [id] });
    const found = machine.runtimes.get(runtime);
    if (found?.checkpoints !== undefined) await found.checkpoints.pause(id);
    else if (found !== undefined) await pauseContainer(found, id);
  } finally {
    await machine.pulls[Symbol.asyncDispose]();
    await machine.users[Symbol.asyncDispose]();
  }
}
