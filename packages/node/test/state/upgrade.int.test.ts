import { appendFile, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type EmbeddedNode } from "../../src/create-node.ts";
import { builtProgram } from "../../src/runtime/built-program.ts";
import { findProgram } from "../../src/system/find-program.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isReady, namespace, nodeName } from "../../src/testing/test-api.ts";
import { openTestBox, soon, statusOf, type TestBox } from "../../src/testing/test-box.ts";
import { counter } from "./counter.ts";
import { answerOf, conditionOf, imagesIn, makeSandbox } from "./saved-pods.ts";

/** Counts, and has a number that only its memory has. */
const command = counter("number=${number:-$RANDOM$RANDOM$RANDOM}; echo $number $i > /root/seen");
const spec = { containers: [{ name: "main", image: "host", command }] };

describe.skipIf(cannotRun)("an upgrade of gVisor", () => {
  let box: TestBox;
  let node: EmbeddedNode;
  let folder: string;
  /** The program of gVisor, and a copy with other bytes, as a later version has. */
  let earlier: string;
  let later: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "node-upgrade-"));
    earlier = await findProgram(builtProgram("runsc") ?? "runsc");
    later = join(folder, "runsc-later");
    await copyFile(earlier, later);
    // The loader of Linux ignores what follows the last section.
    await appendFile(later, "another build");
    box = await openTestBox();
    node = box.node;
  });
  afterAll(async () => {
    await node.stop();
    await box[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Replaces the node by one with this program. Pods and images stay. */
  async function upgradeTo(program: string): Promise<void> {
    await node.stop();
    const { client } = box.api;
    const runtimes = [{ name: "gvisor", program }];
    node = await createNode({ client, nodeName, dataDir: box.dataDir, allowedRuntimes: ["runc"], runtimes });
    await node.ready;
  }

  async function read(pod: string): Promise<string> {
    const session = await node.podStreams.exec({
      namespace,
      pod,
      command: ["cat", "/root/seen"],
      tty: false,
      stdin: false,
    });
    const [said] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
    return said.trimEnd();
  }

  /** Waits until the program has counted beyond a number. Returns the number that its memory has, and the count. */
  async function countsBeyond(pod: string, from: number): Promise<[memory: string, count: number]> {
    let [memory, count] = ["", ""];
    const look = async (): Promise<number> => {
      [memory = "", count = ""] = (await read(pod)).split(" ");
      return Number(count);
    };
    await expect.poll(look, soon).toBeGreaterThan(from);
    return [memory, Number(count)];
  }

  test("a Pod that another build of gVisor started is not saved and goes on, until it is started again", async () => {
    const sandbox = await makeSandbox(box, "running", spec);
    const started = await sandbox.start();
    const [memory, before] = await countsBeyond("running", 20);
    await upgradeTo(later);
    const refused = await sandbox.save();
    expect(conditionOf(refused, "agents.x-k8s.io/Saved")).toMatchObject({
      status: "False",
      reason: "RuntimeVersionDiffers",
      message: expect.stringContaining("it was started by another version of gVisor"),
    });
    const pod = await box.api.until("running", isReady);
    expect(pod.metadata?.uid).toBe(started.metadata?.uid);
    expect(statusOf(pod)).toMatchObject({ restartCount: 0, ready: true });
    expect((await countsBeyond("running", before + 10))[0]).toBe(memory);
    expect(await imagesIn(box, sandbox.uid)).toEqual([]);

    await sandbox.remove();
    await sandbox.start();
    const [next, count] = await countsBeyond("running", 5);
    expect(next).not.toBe(memory);
    expect(answerOf(await sandbox.save(1), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    expect(answerOf(await sandbox.restore(1), "PodRestored")).toBe("True");
    expect((await countsBeyond("running", count))[0]).toBe(next);
    await sandbox.remove();
  });

  test("an image of another build of gVisor is kept, and continues with that build", async () => {
    await upgradeTo(earlier);
    const sandbox = await makeSandbox(box, "suspended", spec);
    await sandbox.start();
    const [memory, before] = await countsBeyond("suspended", 20);
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    await upgradeTo(later);
    const refused = await sandbox.restore();
    expect(answerOf(refused, "PodRestored")).toBe("RuntimeVersionDiffers");
    expect(statusOf(refused)?.state).toHaveProperty("waiting");
    await sandbox.remove();
    expect(await imagesIn(box, sandbox.uid)).toEqual(["0"]);
    await upgradeTo(earlier);
    expect(answerOf(await sandbox.restore(), "PodRestored")).toBe("True");
    expect((await countsBeyond("suspended", before))[0]).toBe(memory);
  });
});
