import { existsSync } from "node:fs";
import { connect } from "node:net";
import { sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import { volumeClaims } from "../../src/resources.ts";
import { snapshotFolder } from "../../src/state/snapshot-store.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isReady, namespace } from "../../src/testing/test-api.ts";
import { openTestBox, soon, type TestBox } from "../../src/testing/test-box.ts";
import { counter } from "./counter.ts";
import { answerOf, conditionOf, makeSandbox } from "./saved-pods.ts";
import { bareSandbox, failureOf, takeSnapshot } from "./snapshots.ts";

/** Counts in memory; the root filesystem shows the number. */
const counting = { containers: [{ name: "main", image: "host", command: counter("echo $i; echo $i > /root/count") }] };

/** Sends numbers to the first client, and says when the connection is broken. */
const server = `
import socket, time
listener = socket.create_server(("0.0.0.0", 9000))
print("listening", flush=True)
client, _ = listener.accept()
try:
    for number in range(10**9):
        client.sendall(b"%d\\n" % number)
        time.sleep(0.02)
except OSError as error:
    print("broken", error, flush=True)
time.sleep(10**6)
`;
const serving = { containers: [{ name: "main", image: "host", command: ["python3", "-c", server] }] };

describe.skipIf(cannotRun)("snapshots of Sandboxes", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox({ state: { snapshotsPerSandbox: 2 } });
  });
  afterEach(() => box.removeAll());
  afterAll(() => box[Symbol.asyncDispose]());

  const count = async (pod: string): Promise<number> => Number(await box.shell(pod, "cat /root/count"));
  const uidOf = ({ metadata }: { metadata: { uid?: string } }): string => metadata.uid ?? "";
  const folderOf = (uid: string): string => snapshotFolder(layoutOf(box.dataDir), uid);

  async function counts(pod: string): Promise<number[]> {
    // The first line may not be written yet.
    await expect.poll(() => box.log(pod), soon).toContain("\n");
    return (await box.log(pod)).trim().split("\n").map(Number);
  }

  test("the source continues, and forks continue from its memory and files, each on its own", async () => {
    const source = await bareSandbox(box, "source", { spec: counting });
    const before = await source.start();
    await box.shell("source", "echo kept > /root/file");
    const snapshot = await takeSnapshot(box, "first", "source");
    expect(failureOf(snapshot)).toBeUndefined();
    expect(snapshot.status).toMatchObject({
      depth: "Memory",
      node: "box",
      runtime: { name: "gvisor", version: expect.stringMatching(/./) },
      sourceName: "source",
      sourceUID: source.uid,
      epoch: 0,
      restorable: true,
    });
    expect(snapshot.status?.pauseMilliseconds).toBeGreaterThan(0);
    expect(snapshot.status?.sizeBytes).toBeGreaterThan(100_000);

    const at = await count("source");
    await expect.poll(() => count("source"), soon).toBeGreaterThan(at + 5);
    const numbers = await counts("source");
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));

    await box.shell("source", "echo changed > /root/file");
    const restoreFrom = { snapshotRef: { name: "first" } };
    for (const name of ["fork-a", "fork-b"]) {
      const fork = await bareSandbox(box, name, { spec: counting, restoreFrom });
      const pod = await fork.restore(uidOf(snapshot));
      expect(conditionOf(pod, "PodRestored")).toMatchObject({
        status: "True",
        message: 'restored from SandboxSnapshot "first"',
      });
      expect(pod.status?.podIP).not.toBe(before.status?.podIP);
      const [first = 0] = await counts(name);
      expect(first).toBeGreaterThan(1);
      expect(first).toBeLessThanOrEqual(numbers.length);
      expect(await box.shell(name, "cat /root/file; hostname")).toBe(`kept\n${name}`);
    }
    await box.shell("fork-a", "echo mine > /root/file");
    expect(await box.shell("fork-b", "cat /root/file")).toBe("kept");
    expect(await box.shell("source", "cat /root/file")).toBe("changed");
  });

  test("a connection of the source continues there, and breaks in a fork", async () => {
    const source = await bareSandbox(box, "connected", { spec: serving });
    const { status } = await source.start();
    await expect.poll(() => box.log("connected"), soon).toContain("listening");
    const socket = connect(9000, status?.podIP ?? "");
    let received = "";
    socket.on("data", (chunk) => {
      received += String(chunk);
    });
    const lines = (): number[] => received.split("\n").slice(0, -1).map(Number);
    await expect.poll(() => lines().length, soon).toBeGreaterThan(5);
    const snapshot = await takeSnapshot(box, "open", "connected");
    expect(failureOf(snapshot)).toBeUndefined();
    const fork = await bareSandbox(box, "connected-fork", {
      spec: serving,
      restoreFrom: { snapshotRef: { name: "open" } },
    });
    expect(answerOf(await fork.restore(uidOf(snapshot)), "PodRestored")).toBe("True");
    await expect.poll(() => box.log("connected-fork"), soon).toContain("broken");
    const at = lines().length;
    await expect.poll(() => lines().length, soon).toBeGreaterThan(at + 5);
    expect(lines()).toEqual(lines().map((_, index) => index));
    expect(await box.log("connected")).not.toContain("broken");
    socket.destroy();
  });

  test("a suspended Sandbox is captured with its saved memory, which it keeps", async () => {
    const source = await makeSandbox(box, "asleep", counting);
    await source.start();
    await counts("asleep");
    expect(answerOf(await source.save(), "agents.x-k8s.io/Saved")).toBe("True");
    const at = (await counts("asleep")).length;
    await source.remove();
    const snapshot = await takeSnapshot(box, "sleeping", "asleep", { depth: "Memory" });
    expect(failureOf(snapshot)).toBeUndefined();
    expect(snapshot.status).toMatchObject({ depth: "Memory", pauseMilliseconds: 0, restorable: true });
    const fork = await bareSandbox(box, "awake", {
      spec: counting,
      restoreFrom: { snapshotRef: { name: "sleeping" } },
    });
    expect(answerOf(await fork.restore(uidOf(snapshot)), "PodRestored")).toBe("True");
    expect((await counts("awake"))[0]).toBe(at + 1);
    expect(answerOf(await source.restore(), "PodRestored")).toBe("True");
    expect((await counts("asleep"))[0]).toBe(at + 1);
  });

  test("a Sandbox that was suspended without its memory is captured with its files only", async () => {
    const source = await bareSandbox(box, "still", { spec: counting });
    await source.start();
    await box.shell("still", "echo kept > /root/file");
    await box.remove("still");
    const snapshot = await takeSnapshot(box, "still-files", "still");
    expect(snapshot.status?.depth).toBe("Filesystem");
    const fork = await bareSandbox(box, "still-fork", {
      spec: counting,
      restoreFrom: { snapshotRef: { name: "still-files" } },
    });
    expect(answerOf(await fork.restore(uidOf(snapshot)), "PodRestored")).toBe("True");
    expect(await box.shell("still-fork", "cat /root/file")).toBe("kept");
  });

  test("claims of the Sandbox are captured, and a fork gets their files in its own claims", async () => {
    const claim = (name: string) => ({
      metadata: { namespace, name },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    const specFor = (name: string) => ({
      containers: [
        {
          name: "main",
          image: "host",
          command: ["sleep", "1000000"],
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: `data-${name}` } }],
    });
    const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: {} }] as never;
    for (const name of ["claiming", "claimed"]) await box.api.client.create(volumeClaims, claim(`data-${name}`));
    const source = await bareSandbox(box, "claiming", { spec: specFor("claiming"), volumeClaimTemplates });
    await source.start();
    await box.shell("claiming", "echo one > /data/file");
    const snapshot = await takeSnapshot(box, "with-claim", "claiming");
    expect(failureOf(snapshot)).toBeUndefined();
    await box.shell("claiming", "echo two > /data/file");
    const restoreFrom = { snapshotRef: { name: "with-claim" } };
    const fork = await bareSandbox(box, "claimed", { spec: specFor("claimed"), volumeClaimTemplates, restoreFrom });
    expect(answerOf(await fork.restore(uidOf(snapshot)), "PodRestored")).toBe("True");
    expect(await box.shell("claimed", "cat /data/file")).toBe("one");
    expect(await box.shell("claiming", "cat /data/file")).toBe("two");
  });

  test("a rollback returns to the memory and files of the snapshot", async () => {
    const sandbox = await bareSandbox(box, "rolled", { spec: counting });
    await sandbox.start();
    await box.shell("rolled", "echo before > /root/file");
    const snapshot = await takeSnapshot(box, "point", "rolled");
    const at = (await counts("rolled")).length;
    await box.shell("rolled", "echo after > /root/file; echo new > /root/other");
    await expect.poll(() => count("rolled"), soon).toBeGreaterThan(at + 50);
    await box.remove("rolled");
    const pod = await sandbox.restore(uidOf(snapshot));
    expect(answerOf(pod, "PodRestored")).toBe("True");
    const [first = 0] = await counts("rolled");
    expect(first).toBeLessThanOrEqual(at + 1);
    expect(await box.shell("rolled", "cat /root/file; ls /root")).toBe("before\ncount\nfile");
  });

  test("volumes of the Pod are part of a snapshot", async () => {
    const spec = {
      containers: [
        {
          name: "main",
          image: "host",
          command: ["sh", "-c", "while :; do sleep 1; done"],
          volumeMounts: [
            { name: "disk", mountPath: "/disk" },
            { name: "memory", mountPath: "/memory" },
          ],
        },
      ],
      volumes: [
        { name: "disk", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
      ],
    };
    const source = await bareSandbox(box, "volumes", { spec });
    await source.start();
    await box.shell("volumes", "echo a > /disk/a; echo b > /memory/b");
    const snapshot = await takeSnapshot(box, "with-volumes", "volumes");
    expect(failureOf(snapshot)).toBeUndefined();
    const restoreFrom = { snapshotRef: { name: "with-volumes" } };
    const fork = await bareSandbox(box, "volumes-fork", { spec, restoreFrom });
    expect(answerOf(await fork.restore(uidOf(snapshot)), "PodRestored")).toBe("True");
    expect(await box.shell("volumes-fork", "cat /disk/a /memory/b; echo c > /disk/c; ls /disk")).toBe("a\nb\na\nc");
    expect(await box.shell("volumes", "ls /disk")).toBe("a");
  });

  test("a Sandbox of runc is captured without its memory, and starts from its files", async () => {
    const spec = { ...counting, runtimeClassName: "runc" };
    const source = await bareSandbox(box, "files", { spec });
    await source.start();
    await box.shell("files", "echo kept > /root/file");
    expect(failureOf(await takeSnapshot(box, "files-memory", "files", { depth: "Memory" }))).toBe("RuntimeCannotSave");
    const snapshot = await takeSnapshot(box, "files-only", "files");
    expect(snapshot.status?.depth).toBe("Filesystem");
    const at = await count("files");
    await expect.poll(() => count("files"), soon).toBeGreaterThan(at);
    const fork = await bareSandbox(box, "files-fork", { spec, restoreFrom: { snapshotRef: { name: "files-only" } } });
    expect(answerOf(await fork.restore(uidOf(snapshot)), "PodRestored")).toBe("True");
    expect(await box.shell("files-fork", "cat /root/file")).toBe("kept");
    expect((await counts("files-fork"))[0]).toBe(1);
  });

  test("a Sandbox that does not name the snapshot of another cannot use it", async () => {
    const source = await bareSandbox(box, "owner", { spec: counting });
    await source.start();
    const snapshot = await takeSnapshot(box, "private", "owner");
    const thief = await bareSandbox(box, "thief", { spec: counting });
    const pod = await thief.restore(uidOf(snapshot));
    expect(answerOf(pod, "PodRestored")).toBe("SnapshotNotFound");
    expect(pod.status?.containerStatuses?.[0]?.state).toHaveProperty("waiting");
  });

  test.for(["0f8fad5b-d9cb-469f-a165-70867728950e", "a"])(
    "a Pod that names the unknown snapshot %j does not start",
    async (uid) => {
      const sandbox = await bareSandbox(box, `unknown-${uid}`, {
        spec: counting,
        restoreFrom: { snapshotRef: { name: "first" } },
      });
      expect(answerOf(await sandbox.restore(uid), "PodRestored")).toBe("SnapshotNotFound");
    },
  );

  test("the files of a snapshot go with it", async () => {
    const source = await bareSandbox(box, "short", { spec: counting });
    await source.start();
    const snapshot = await takeSnapshot(box, "temporary", "short");
    expect(existsSync(folderOf(uidOf(snapshot)))).toBe(true);
    await box.api.client.delete(sandboxSnapshots, { namespace, name: "temporary" });
    await expect.poll(() => existsSync(folderOf(uidOf(snapshot))), soon).toBe(false);
    await expect
      .poll(() => box.api.server.read(sandboxSnapshots, { namespace, name: "temporary" }), soon)
      .toBeUndefined();
  });

  test("a snapshot of a Sandbox that has its limit of them replaces the oldest one", async () => {
    const source = await bareSandbox(box, "limited", { spec: counting });
    await source.start();
    const taken = [];
    for (const name of ["oldest", "older"]) taken.push(await takeSnapshot(box, name, "limited"));
    expect(taken.map(failureOf)).toEqual([undefined, undefined]);
    const newest = await takeSnapshot(box, "newest", "limited");
    expect(failureOf(newest)).toBeUndefined();
    expect([...taken, newest].map((one) => existsSync(folderOf(uidOf(one))))).toEqual([false, true, true]);
    await expect.poll(() => box.api.server.read(sandboxSnapshots, { namespace, name: "oldest" }), soon).toBeUndefined();
  });

  test("a snapshot waits for a Sandbox that is starting", async () => {
    const taking = takeSnapshot(box, "early", "late");
    await expect
      .poll(() => box.api.server.read(sandboxSnapshots, { namespace, name: "early" })?.status?.conditions, soon)
      .toMatchObject([{ type: "Ready", status: "False", reason: "SourceNotRunning" }]);
    const source = await bareSandbox(box, "late", { spec: counting });
    await source.start();
    expect(failureOf(await taking)).toBeUndefined();
    expect(isReady(box.api.read("late"))).toBe(true);
    expect(box.api.server.read(sandboxes, { namespace, name: "late" })).toBeDefined();
  });
});
