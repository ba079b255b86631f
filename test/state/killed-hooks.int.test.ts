import { existsSync } from "node:fs";
import { join } from "node:path";
import { sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keptFolder, keptPaths } from "../../packages/node/src/image/kept-rootfs.ts";
import { type Layout, layoutOf } from "../../packages/node/src/layout.ts";
import { pods } from "../../packages/node/src/resources.ts";
import { namesIn } from "../../packages/node/src/system/folders.ts";
import { type Census, takeCensus } from "../e2e/node-census.ts";
import { cannotRun, namespace, StateBox, soon } from "./state-box.ts";
import { askIn, type Known, witnessPod } from "./witness.ts";

const hooks = ["before-suspend", "after-resume", "after-fork"];

/** Creates a file of its name and the epoch when it begins, takes a second, and adds a line to another file. */
const hook =
  "#!/bin/sh\\n: >/workspace/$(basename $0)-$SANDBOX_EPOCH\\nsleep 1\\necho $(basename $0) $SANDBOX_EPOCH >>/workspace/ended\\n";
const install = hooks
  .map((name) => `/etc/agent-sandbox/hooks/${name}`)
  .map((path) => `printf '${hook}' >${path}; chmod +x ${path}`)
  .join("; ");

const spec = { runtime: "Injected", podTemplate: witnessPod } as const;

describe.skipIf(cannotRun)("a box that is killed during a hook", { timeout: 300_000 }, () => {
  let box: StateBox;
  let before: Census;
  let source: Known;

  beforeAll(async () => {
    box = await StateBox.start();
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  /** Makes a change, kills the box when the hook of this name and epoch has begun, and starts it again. */
  async function killDuring(called: string, name: string, change: () => Promise<unknown>): Promise<void> {
    await change();
    const { metadata } = await box.read(name);
    const { upper } = keptPaths(layout(), metadata.uid ?? "", "main");
    const hasBegun = (): boolean => existsSync(join(upper, "workspace", called));
    await expect.poll(hasBegun, { timeout: 60_000, interval: 10 }).toBe(true);
    process.kill(box.box.pid(), "SIGKILL");
    expect((await box.box.up()).code).toBe(0);
  }

  /** The hooks that have run to their end. */
  const ended = async (name: string): Promise<string[]> => (await box.shell(name, "cat /workspace/ended")).split("\n");
  const layout = (): Layout => layoutOf(box.box.dataDir);

  /** The images of suspensions and the snapshots, complete and partial. */
  async function images(): Promise<string[]> {
    const [suspensions, snapshots] = ["suspensions", "snapshots"].map((kind) => join(layout().stateDir, kind));
    const ofSandboxes = await namesIn(suspensions ?? "");
    const epochs = await Promise.all(ofSandboxes.map((uid) => namesIn(join(suspensions ?? "", uid))));
    return [...epochs.flat(), ...(await namesIn(snapshots ?? ""))];
  }

  test("the first Sandbox leaves only what all of them share", async () => {
    await box.run("first", spec);
    await box.snapshot("first", "first");
    await box.suspend("first");
    await box.delete("first");
    await expect.poll(async () => (await box.client.list(pods)).items, soon).toEqual([]);
    await expect.poll(images, soon).toEqual([]);
    const leftovers = () => Promise.all([keptFolder(layout()), layout().trashDir].map(namesIn));
    await expect.poll(leftovers, soon).toEqual([[], []]);
    before = await takeCensus(box.box.dataDir);
  });

  test("before-suspend: the Sandbox is saved after the next start", async () => {
    await box.run("worker", spec);
    await box.shell("worker", `mkdir -p /etc/agent-sandbox/hooks; ${install}`);
    source = await askIn(box, "worker", "count");
    await killDuring("before-suspend-0", "worker", () => box.change("worker", { operatingMode: "Suspended" }));
    await box.until("worker", "Suspended");
    expect((await box.read("worker")).status?.suspension).toMatchObject({ depth: "Memory", epoch: 0 });
    await box.resume("worker");
    const { identity } = source;
    expect(await askIn(box, "worker")).toMatchObject({ identity, count: 1, file: 1, epoch: 1, name: "worker" });
    expect(await ended("worker")).toContain("before-suspend 0");
    await expect.poll(images, soon).toEqual([]);
  });

  test("after-resume: the Sandbox continues once, and its hook runs to the end", async () => {
    await box.suspend("worker");
    await killDuring("after-resume-2", "worker", () => box.change("worker", { operatingMode: "Running" }));
    await box.ready("worker");
    expect((await box.read("worker")).status?.suspension).toMatchObject({ restored: "Memory", epoch: 2 });
    const { identity } = source;
    expect(await askIn(box, "worker", "count")).toMatchObject({ identity, count: 2, file: 2, epoch: 2 });
    expect(await ended("worker")).toContain("after-resume 2");
    await expect.poll(images, soon).toEqual([]);
  });

  test("after-fork: the fork gets its identity, and its programs continue", async () => {
    await box.snapshot("taken", "worker");
    const restoreFrom = { snapshotRef: { name: "taken" } };
    await killDuring("after-fork-3", "fork", () => box.create("fork", { ...spec, restoreFrom }));
    await box.ready("fork");
    const { identity } = source;
    expect(await askIn(box, "fork", "count")).toMatchObject({
      identity,
      count: 3,
      epoch: 3,
      name: "fork",
      hostname: "fork",
    });
    expect(await askIn(box, "worker")).toMatchObject({ identity, count: 2, epoch: 2, name: "worker" });
    expect(await ended("fork")).toContain("after-fork 3");
  });

  test("nothing of the killed boxes is left", async () => {
    await box.client.delete(sandboxSnapshots, { namespace, name: "taken" });
    await Promise.all(["worker", "fork"].map((name) => box.delete(name)));
    expect((await box.client.list(sandboxes, { namespace })).items).toEqual([]);
    await expect.poll(images, soon).toEqual([]);
    await expect.poll(async () => (await box.client.list(pods)).items, soon).toEqual([]);
    // Files of a Sandbox that was deleted just after a kill are removed every five minutes, and at a start.
    process.kill(box.box.pid(), "SIGKILL");
    expect((await box.box.up()).code).toBe(0);
    await expect.poll(() => takeCensus(box.box.dataDir), soon).toEqual(before);
  });
});
