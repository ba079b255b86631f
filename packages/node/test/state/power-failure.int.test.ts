import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keptPaths } from "../../src/image/kept-rootfs.ts";
import { layoutOf } from "../../src/layout.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, makeSandbox } from "./saved-pods.ts";

const run = (program: string, ...args: string[]): string => execFileSync(program, args, { encoding: "utf8" });

const bytes = 300_000;
const writer = {
  containers: [
    {
      name: "main",
      image: "host",
      command: [
        "sh",
        "-c",
        `head -c ${bytes} /dev/zero | tr '\\0' x | tee /written > /disk/written; exec sleep infinity`,
      ],
      readinessProbe: { exec: { command: ["pgrep", "sleep"] }, periodSeconds: 1 },
      volumeMounts: [{ name: "disk", mountPath: "/disk" }],
    },
  ],
  volumes: [{ name: "disk", emptyDir: {} }],
};

/** A node on a disk of its own. What the disk contains at an instant is what a power failure would leave. */
describe.skipIf(cannotRun)("a power failure after a suspension", () => {
  let folder: string;
  let disk: string;
  let box: TestBox;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "node-int-"));
    disk = join(folder, "disk");
    await mkdir(disk);
    run("truncate", "--size=1G", `${disk}.img`);
    run("mkfs.ext4", "-q", `${disk}.img`);
    run("mount", "-o", "loop", `${disk}.img`, disk);
    box = await openTestBox({ dataDir: join(disk, "data"), budget: { diskFreeBytes: 0, inodesFree: 0 } });
  });
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    run("umount", disk);
    await rm(folder, { recursive: true, force: true });
  });

  test("loses neither the image nor the files that belong to it", async () => {
    const sandbox = await makeSandbox(box, "writer", writer);
    await sandbox.start();
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    run("cp", "--sparse=always", `${disk}.img`, `${disk}-after.img`);
    const after = join(folder, "after");
    await mkdir(after);
    run("mount", "-o", "loop", `${disk}-after.img`, after);
    try {
      const layout = layoutOf(join(after, "data"));
      const image = join(layout.stateDir, "suspensions", sandbox.uid, "0");
      expect(JSON.parse(await readFile(join(image, "meta.json"), "utf8"))).toMatchObject({ sandboxUid: sandbox.uid });
      const written = join(keptPaths(layout, sandbox.uid, "main").upper, "written");
      expect(await readFile(written, "latin1")).toBe("x".repeat(bytes));
      const volume = run("find", after, "-path", "*disk/written", "-size", `${bytes}c`);
      expect(volume.trim().split("\n")).toEqual([expect.stringContaining("/disk/written")]);
    } finally {
      run("umount", after);
    }
  });
});
