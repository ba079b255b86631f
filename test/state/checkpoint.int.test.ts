import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sandboxCalls } from "../../packages/node/src/runtime/runsc-checkpoints.ts";
import { mountsUnder, unmount } from "../../packages/node/src/system/mounts.ts";
import { whyNoBox } from "../e2e/box.ts";

const runsc = `${import.meta.dirname}/../../dist/runsc-linux-${process.arch === "arm64" ? "arm64" : "amd64"}`;
const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const counter = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done";

/** Facts about gVisor and its control protocol that the node relies on when it saves a Pod. They may change with the version of gVisor. */
describe.skipIf(reason !== undefined)("gVisor's checkpoints", () => {
  let folder: string;
  let out: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "checkpoint-"));
    out = join(folder, "out");
    for (const name of ["bundle", "rootfs/bin", "rootfs/proc", "run"])
      await mkdir(join(folder, name), { recursive: true });
    const busybox = spawnSync("which", ["busybox"], { encoding: "utf8" }).stdout.trim();
    writeFileSync(join(folder, "rootfs/bin/busybox"), readFileSync(busybox), { mode: 0o755 });
    const process = { user: { uid: 0, gid: 0 }, args: ["/bin/busybox", "sh", "-c", counter], env: [], cwd: "/" };
    const namespaces = ["pid", "mount", "ipc", "uts", "network"].map((type) => ({ type }));
    const spec = { ociVersion: "1.0.2", process, root: { path: join(folder, "rootfs") }, linux: { namespaces } };
    writeFileSync(join(folder, "bundle/config.json"), JSON.stringify(spec));
  });

  afterAll(async () => {
    // gVisor mounts an empty network namespace in its folder.
    await unmount(await mountsUnder(folder));
    rmSync(folder, { recursive: true, force: true });
  });

  async function call(...words: string[]): Promise<void> {
    const output = await open(out, "a");
    try {
      const options = [`--root=${folder}/run`, "--overlay2=none", "--ignore-cgroups"];
      const { status } = spawnSync(runsc, [...options, ...words], { stdio: ["ignore", output.fd, output.fd] });
      if (status !== 0) throw new Error(`runsc ${words[0]} failed: ${readFileSync(out, "utf8").slice(-500)}`);
    } finally {
      await output.close();
    }
  }

  const numbers = (): number[] => readFileSync(out, "utf8").trim().split("\n").map(Number);

  async function countsOn(from: number): Promise<void> {
    while (numbers().length <= from) await sleep(20);
  }

  test("a paused sandbox stays paused after its checkpoint, and its restored copy continues", async () => {
    const bundle = `--bundle=${folder}/bundle`;
    const image = join(folder, "image");
    await mkdir(image);
    await call("run", "--detach", bundle, "one");
    await countsOn(5);
    const calls = sandboxCalls(join(folder, "run"));
    await calls.pause("one");
    const paused = numbers().length;
    await calls.save("one", image);
    expect(numbers()).toHaveLength(paused);
    await call("delete", "--force", "one");
    await call("restore", "--detach", "--background", bundle, `--image-path=${image}`, "one");
    await countsOn(paused + 5);
    await call("delete", "--force", "one");
    const seen = numbers();
    expect(seen).toEqual(seen.map((_, index) => index + 1));
  });

  test("each process of the node knows whether a sandbox is paused, and pauses and continues it once", async () => {
    await call("run", "--detach", `--bundle=${folder}/bundle`, "two");
    const [first, second] = [sandboxCalls(join(folder, "run")), sandboxCalls(join(folder, "run"))];
    const answers = async (): Promise<boolean[]> => [await first.isPaused("two"), await second.isPaused("two")];
    expect(await answers()).toEqual([false, false]);
    await second.resume("two");
    await first.pause("two");
    await first.pause("two");
    expect(await answers()).toEqual([true, true]);
    await second.pause("two");
    await second.resume("two");
    await second.resume("two");
    const before = numbers().length;
    await countsOn(before + 5);
    expect(await second.isPaused("two")).toBe(false);
    await call("delete", "--force", "two");
    await expect(second.pause("two")).rejects.toThrow("it is not running");
    await second.resume("two");
    expect(await second.isPaused("two")).toBe(false);
  });
});
