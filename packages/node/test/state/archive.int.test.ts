import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { isConditionTrue, sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import { namespaces } from "../../src/resources.ts";
import { namesIn } from "../../src/system/folders.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { namespace } from "../../src/testing/test-api.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf } from "./saved-pods.ts";
import { bareSandbox, takeSnapshot, untilSnapshot } from "./snapshots.ts";

const program = `
import os, time
os.makedirs("/work", exist_ok=True); open("/work/file", "w").write("on the disk")
os.setxattr("/work/file", "user.tag", bytes([0, 255, 10]))
open("/memory/secret", "w").write("in memory")
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
    },
  ],
  volumes: [{ name: "memory", emptyDir: { medium: "Memory" } }],
};

describe.skipIf(cannotRun)("the archive of a snapshot", () => {
  let plain: TestBox;
  let keyed: TestBox;
  let folder: string;
  let archive: Buffer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "archive-key-"));
    await writeFile(join(folder, "key"), randomBytes(32), { mode: 0o600 });
    [plain, keyed] = await Promise.all([openTestBox(), openTestBox({ stateKeyFiles: [join(folder, "key")] })]);
    for (const box of [plain, keyed]) await box.api.client.create(namespaces, { metadata: { name: namespace } });
  });
  afterAll(async () => {
    await Promise.all([plain, keyed].map((box) => box?.[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true, force: true });
  });

  const counting = async (box: TestBox, pod: string, from: number): Promise<void> => {
    const count = async (): Promise<number> => Number(await box.shell(pod, "cat /memory/count").catch(() => 0));
    await expect.poll(count, { timeout: 30_000 }).toBeGreaterThan(from);
  };
  const load = ({ node }: TestBox, name: string, bytes: Uint8Array): Promise<unknown> =>
    node.podStreams.snapshots.import({ namespace, name, content: Readable.from([bytes]) });
  const files = ({ dataDir }: TestBox): Promise<string[]> => namesIn(join(layoutOf(dataDir).stateDir, "snapshots"));

  /** Imports the archive, and continues a new Sandbox from it. */
  const continues = async (box: TestBox, name: string): Promise<void> => {
    await load(box, name, archive);
    const {
      metadata,
      status,
      spec: wanted,
    } = await untilSnapshot(box, name, (one) => isConditionTrue(one.status?.conditions, "Ready"));
    expect(status).toMatchObject({ depth: "Memory", restorable: true, sourceName: "source", sourceUID: "" });
    expect(wanted.deletionPolicy).toBe("Retain");
    const fork = await bareSandbox(box, `fork-${name}`, { spec, restoreFrom: { snapshotRef: { name } } });
    expect(answerOf(await fork.restore(metadata.uid ?? ""), "PodRestored")).toBe("True");
    await counting(box, fork.name, 20);
    expect(await box.shell(fork.name, "cat /work/file /memory/secret")).toBe("on the diskin memory");
    const tag = `python3 -c 'import os; print(list(os.getxattr("/work/file", "user.tag")))'`;
    expect(await box.shell(fork.name, tag)).toBe("[0, 255, 10]");
  };

  test("comes from an encrypted snapshot, and continues in a box without a key, and in one with a key", async () => {
    const source = await bareSandbox(keyed, "source", { spec });
    await source.start();
    await counting(keyed, "source", 20);
    await takeSnapshot(keyed, "taken", "source");
    archive = await buffer(await keyed.node.podStreams.snapshots.export({ namespace, name: "taken" }));
    expect(archive.includes("in memory")).toBe(true);
    await continues(plain, "imported");
    await continues(keyed, "imported");
    const again = await buffer(await keyed.node.podStreams.snapshots.export({ namespace, name: "imported" }));
    expect(again.length).toBe(archive.length);
  });

  test("changes nothing when it is damaged, incomplete or cannot be created", async () => {
    const before = await files(plain);
    const changed = Buffer.from(archive);
    changed[archive.length - 5000] = (changed[archive.length - 5000] ?? 0) ^ 1;
    const invalid = { reason: "ArchiveInvalid" };
    await expect(load(plain, "broken", changed)).rejects.toMatchObject(invalid);
    await expect(load(plain, "broken", archive.subarray(0, archive.length / 2))).rejects.toMatchObject(invalid);
    await expect(load(plain, "broken", Buffer.concat([archive, archive]))).rejects.toMatchObject(invalid);
    await expect(load(plain, "imported", archive)).rejects.toMatchObject({ reason: "Conflict" });
    const elsewhere = { namespace: "nowhere", name: "a", content: Readable.from([archive]) };
    await expect(plain.node.podStreams.snapshots.import(elsewhere)).rejects.toMatchObject({ reason: "NotFound" });
    expect(await files(plain)).toEqual(before);
    expect(plain.api.server.read(sandboxSnapshots, { namespace, name: "broken" })).toBeUndefined();
  });

  test("of another build of gVisor is imported, and says why it cannot be restored", async () => {
    const manifestBytes = archive.subarray(512, 512 + Number.parseInt(archive.toString("latin1", 124, 135), 8));
    const hash = (JSON.parse(manifestBytes.toString()) as { image: { build: { sha256: string } } }).image.build.sha256;
    const other = Buffer.from(archive);
    other.write("0".repeat(64), other.indexOf(hash), "latin1");
    await load(plain, "other-build", other);
    const { status } = await untilSnapshot(plain, "other-build", (one) =>
      isConditionTrue(one.status?.conditions, "Ready"),
    );
    expect(status?.restorable).toBe(false);
    expect(status?.conditions?.find(({ type }) => type === "Restorable")?.reason).toBe("RuntimeVersionDiffers");
  });
});
