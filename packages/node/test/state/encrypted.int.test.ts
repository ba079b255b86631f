import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type EmbeddedNode } from "../../src/create-node.ts";
import { layoutOf } from "../../src/layout.ts";
import { namesIn } from "../../src/system/folders.ts";
import { mountsUnder } from "../../src/system/mounts.ts";
import { tryCommand } from "../../src/system/run-command.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { namespace, nodeName } from "../../src/testing/test-api.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, conditionOf, imagesIn, makeSandbox } from "./saved-pods.ts";
import { bareSandbox, takeSnapshot } from "./snapshots.ts";

/** In the memory of the program, in a volume in memory, and in no file on the disk: built from two parts. */
const marker = "PLAINTEXT-MARKER-7f3a";
const program = `
import time
secret = "PLAINTEXT-" + "MARKER-7f3a"
heap = [secret.encode() * 1000 for _ in range(2500)]
open("/memory/secret", "w").write(secret)
count = 0
while True:
    count += 1
    open("/memory/count", "w").write(str(count))
    time.sleep(0.02)
`;

const spec = {
  containers: [
    {
      name: "main",
      image: "host",
      command: ["python3", "-c", program],
      volumeMounts: [{ name: "memory", mountPath: "/memory" }],
      // Its checkpoint in memory does not fit into this limit together with the program itself.
      resources: { limits: { memory: "128Mi" } },
    },
  ],
  volumes: [{ name: "memory", emptyDir: { medium: "Memory" } }],
};

describe.skipIf(cannotRun)("encrypted images", () => {
  let box: TestBox;
  let node: EmbeddedNode;
  let folder: string;
  let files: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "state-keys-"));
    files = ["first", "second"].map((name) => join(folder, name));
    for (const file of files) await writeFile(file, randomBytes(32), { mode: 0o600 });
    box = await openTestBox({ stateKeyFiles: files.slice(0, 1) });
    node = box.node;
  });
  afterAll(async () => {
    await node.stop();
    await box[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Replaces the node by one with other keys. Pods and images stay. */
  const restart = async (stateKeyFiles: string[]): Promise<void> => {
    await node.stop();
    const { client } = box.api;
    node = await createNode({ client, nodeName, dataDir: box.dataDir, allowedRuntimes: ["runc"], stateKeyFiles });
    await node.ready;
  };
  const read = async (pod: string, file: string): Promise<string> => {
    const session = await node.podStreams.exec({ namespace, pod, command: ["cat", file], tty: false, stdin: false });
    const [said] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
    return said;
  };
  const count = async (pod: string): Promise<number> => Number((await read(pod, "/memory/count")) || 0);
  /** Waits until a Pod has counted beyond a number, and returns what it has counted. */
  const counting = async (pod: string, from = 0): Promise<number> => {
    let now = 0;
    const look = async (): Promise<number> => {
      now = await count(pod).catch(() => 0);
      return now;
    };
    await expect.poll(look, { timeout: 30_000, interval: 50 }).toBeGreaterThan(from);
    return now;
  };
  const stateDir = (): string => layoutOf(box.dataDir).stateDir;
  const isOnDisk = async (): Promise<boolean> =>
    (await tryCommand("grep", ["-r", "-l", "-a", marker, stateDir()])).code === 0;
  const plainFiles = (): Promise<string[]> => namesIn(join(layoutOf(box.dataDir).runDir, "plain"));

  test("a Pod continues from an encrypted image, and its memory is not on the disk", async () => {
    const sandbox = await makeSandbox(box, "sealed", spec);
    await sandbox.start();
    await counting("sealed", 5);
    expect(conditionOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toMatchObject({ status: "True" });
    await sandbox.remove();
    expect(await isOnDisk()).toBe(false);
    expect(await plainFiles()).toEqual([]);
    const restored = await sandbox.restore();
    expect(conditionOf(restored, "PodRestored")).toMatchObject({ status: "True" });
    const after = await counting("sealed", 5);
    expect(after).toBeGreaterThan(5);
    expect(await read("sealed", "/memory/secret")).toBe(marker);
    expect(await plainFiles()).toEqual([]);
    expect(await mountsUnder(join(layoutOf(box.dataDir).runDir, "plain"))).toEqual([]);
  });

  test("forks continue from one encrypted snapshot at the same time", async () => {
    const source = await bareSandbox(box, "source", { spec });
    await source.start();
    const before = await counting("source", 5);
    const snapshot = await takeSnapshot(box, "sealed", "source");
    expect(snapshot.status).toMatchObject({ depth: "Memory", restorable: true });
    expect(await isOnDisk()).toBe(false);
    const restoreFrom = { snapshotRef: { name: "sealed" } };
    const forks = await Promise.all(["fork-1", "fork-2"].map((name) => bareSandbox(box, name, { spec, restoreFrom })));
    const pods = await Promise.all(forks.map((fork) => fork.restore(snapshot.metadata.uid ?? "")));
    expect(pods.map((pod) => conditionOf(pod, "PodRestored")?.message)).toEqual([
      'restored from SandboxSnapshot "sealed"',
      'restored from SandboxSnapshot "sealed"',
    ]);
    for (const name of ["fork-1", "fork-2", "source"]) expect(await counting(name, before)).toBeGreaterThan(before);
    expect(await plainFiles()).toEqual([]);
  });

  test("a snapshot of a suspended Sandbox shares its encrypted files, and both continue", async () => {
    const source = await makeSandbox(box, "asleep", spec);
    await source.start();
    const before = await counting("asleep", 5);
    expect(answerOf(await source.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await source.remove();
    const snapshot = await takeSnapshot(box, "sleeping", "asleep", { depth: "Memory" });
    expect(snapshot.status).toMatchObject({ depth: "Memory", restorable: true });
    const fork = await bareSandbox(box, "awake", { spec, restoreFrom: { snapshotRef: { name: "sleeping" } } });
    expect(answerOf(await fork.restore(snapshot.metadata.uid ?? ""), "PodRestored")).toBe("True");
    expect(answerOf(await source.restore(), "PodRestored")).toBe("True");
    for (const name of ["awake", "asleep"]) expect(await counting(name, before)).toBeGreaterThan(before);
    expect(await isOnDisk()).toBe(false);
  });

  test("a snapshot without memory has its volumes in memory encrypted", async () => {
    const sleeping = {
      ...spec,
      runtimeClassName: "runc",
      containers: [{ ...spec.containers[0], command: ["sleep", "infinity"] }],
    };
    const source = await bareSandbox(box, "files", { spec: sleeping as typeof spec });
    await source.start();
    await box.shell(
      "files",
      `printf ${marker.slice(0, 10)} > /memory/secret; printf ${marker.slice(10)} >> /memory/secret`,
    );
    const snapshot = await takeSnapshot(box, "files-only", "files");
    expect(snapshot.status).toMatchObject({ depth: "Filesystem", restorable: true });
    expect(await isOnDisk()).toBe(false);
    const restoreFrom = { snapshotRef: { name: "files-only" } };
    const fork = await bareSandbox(box, "files-fork", { spec: sleeping as typeof spec, restoreFrom });
    expect(answerOf(await fork.restore(snapshot.metadata.uid ?? ""), "PodRestored")).toBe("True");
    expect(await read("files-fork", "/memory/secret")).toBe(marker);
  });

  test("an image waits for its key: without, with another, and with the right one as the second", async () => {
    const sandbox = await makeSandbox(box, "locked", spec);
    await sandbox.start();
    await counting("locked", 5);
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    for (const keys of [[], files.slice(1)]) {
      await restart(keys);
      expect(answerOf(await sandbox.restore(), "PodRestored")).toBe("KeyUnavailable");
      expect(await imagesIn(box, sandbox.uid)).toEqual(["0"]);
      await sandbox.remove();
    }
    await restart(files.toReversed());
    expect(answerOf(await sandbox.restore(), "PodRestored")).toBe("True");
    expect(await counting("locked", 5)).toBeGreaterThan(5);
  });

  test("an image that was written before there was a key is restored", async () => {
    await restart([]);
    const sandbox = await makeSandbox(box, "older", spec);
    await sandbox.start();
    await counting("older", 5);
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    expect(await isOnDisk()).toBe(true);
    await restart(files);
    expect(answerOf(await sandbox.restore(), "PodRestored")).toBe("True");
    expect(await counting("older", 5)).toBeGreaterThan(5);
  });

  test("a changed file is found before anything runs", async () => {
    const sandbox = await makeSandbox(box, "changed", spec);
    await sandbox.start();
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    const checkpoint = join(stateDir(), "suspensions", sandbox.uid, "0", "checkpoint");
    expect(await readdir(checkpoint)).toContain("volume.memory.tar");
    await tryCommand("dd", [
      "if=/dev/zero",
      `of=${checkpoint}/pages.img`,
      "bs=1",
      "seek=100000",
      "count=1",
      "conv=notrunc",
    ]);
    expect(answerOf(await sandbox.restore(), "PodRestored")).toBe("ImageDamaged");
    expect(await plainFiles()).toEqual([]);
  });
});
