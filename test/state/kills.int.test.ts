import { spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findCondition, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../packages/node/src/layout.ts";
import { pods } from "../../packages/node/src/resources.ts";
import { namesIn } from "../../packages/node/src/system/folders.ts";
import { findShared } from "../../packages/node/src/testing/traces.ts";
import { Box, buildCommandLine } from "../e2e/box.ts";
import { BoxProcess } from "../e2e/node-box-process.ts";
import { type Census, takeCensus } from "../e2e/node-census.ts";
import { machineAsSeen, machineOf } from "../e2e/node-machine.ts";
import { cannotRun, namespace, StateBox, soon } from "./state-box.ts";
import { randomFrom, StateStorm } from "./state-storm.ts";
import { witnessPod } from "./witness.ts";

/** `make test-state-long` sets 50 and 20. */
const kills = Number(process.env["STATE_KILLS"] ?? 4);
const count = Number(process.env["STATE_SANDBOXES"] ?? 4);
const seed = Number(process.env["STATE_SEED"] ?? Date.now() % 1_000_000);
const random = randomFrom(seed);

/** Steps of saves, restores and snapshots in the log of the node. */
const steps = /"do":"(save|record-saved|end-saved|restore|tear-down)"|"snapshot taken"/;

describe.skipIf(cannotRun)("a box that is killed while sandboxes sleep, wake and fork", { timeout: 3_600_000 }, () => {
  let box: StateBox;
  let running: BoxProcess;
  let before: Census;

  const start = (): BoxProcess => new BoxProcess(box.box.dataDir, box.box.listen);
  const listPods = async () => (await box.client.list(pods)).items;
  const census = (): Promise<Census> => takeCensus(box.box.dataDir);

  beforeAll(async () => {
    buildCommandLine();
    const made = await Box.make();
    running = new BoxProcess(made.dataDir, made.listen);
    await running.serving;
    box = await StateBox.of(made);
  }, 180_000);
  afterAll(async () => {
    await running?.stop();
    await box?.[Symbol.asyncDispose]();
  }, 180_000);

  /** Kills the box while it starts, at a random moment, or during a step of a save, restore or snapshot. */
  async function kill(): Promise<void> {
    const kind = random();
    if (kind > 0.2) await running.serving;
    if (kind > 0.4) {
      const patience = AbortSignal.timeout(10_000);
      for (let wanted = Math.ceil(random() * count); wanted > 0; wanted -= 1) await running.logs(steps, patience);
    }
    await sleep(random() * (kind > 0.4 ? 200 : 1500));
    await running.kill();
    running = start();
  }

  /** The images and snapshots in the folder of saved state, and partial ones. */
  async function savedState(): Promise<string[]> {
    const root = layoutOf(box.box.dataDir).stateDir;
    const found = await Promise.all(
      (await namesIn(root)).map(async (kind) => (await namesIn(join(root, kind))).map((name) => `${kind}/${name}`)),
    );
    const all = await Promise.all(
      found.flat().map(async (name) => {
        const [kind = "", uid = ""] = name.split("/");
        if (kind !== "suspensions") return [name];
        return (await readdir(join(root, kind, uid))).map((epoch) => `${name}/${epoch}`);
      }),
    );
    return all.flat();
  }

  /** What the API, the node and the machine know about Pods that are not ready. */
  async function describeUnready(): Promise<string> {
    const unready = (await listPods()).filter(
      ({ status }) => findCondition(status?.conditions, "Ready")?.status !== "True",
    );
    const links = spawnSync("ip", ["-brief", "link"], { encoding: "utf8" }).stdout;
    const about = unready.map(async ({ metadata, status }) => {
      const { name = "", uid = "" } = metadata ?? {};
      const record = await readFile(join(layoutOf(box.box.dataDir).podsDir, uid, "pod.json"), "utf8").catch(String);
      const inside = await box.shell(name, "ps aux; ss -ltn; ip address").catch(String);
      return [name, JSON.stringify(status), record, inside].join("\n");
    });
    return [links, ...(await Promise.all(about))].join("\n\n");
  }

  test(`no memory is lost by ${kills} kills with ${count} sandboxes`, async () => {
    console.log(`seed ${seed}`);
    // The first Sandbox creates resources that all share. They do not count as leftovers.
    await box.run("first", { podTemplate: witnessPod });
    await box.snapshot("first", "first");
    await box.suspend("first");
    await box.delete("first");
    await expect.poll(savedState, soon).toEqual([]);
    await expect.poll(listPods, soon).toEqual([]);
    await expect.poll(() => namesIn(layoutOf(box.box.dataDir).trashDir), soon).toEqual([]);
    before = await census();

    const storm = new StateStorm(box);
    await storm.begin(count, seed);
    for (let round = 0; round < kills; round += 1) await kill();
    await running.serving;
    await storm.end().catch(async (error: unknown) => {
      console.log(await describeUnready());
      throw error;
    });
    console.log(`${kills} kills, seed ${seed}:`, storm.tally);
    expect(storm.tally.counted).toBeGreaterThan(0);
    expect(storm.tally.slept + storm.tally.forked + storm.tally.rolledBack).toBeGreaterThanOrEqual(count);
  });

  test("the machine has exactly the resources of the running Pods, and no image is left", async () => {
    // The Pods of deleted forks may be ending.
    await expect.poll(listPods, soon).toHaveLength(count);
    await expect.poll(async () => machineAsSeen(await census()), soon).toEqual(machineOf(await listPods()));
    await expect.poll(savedState, soon).toEqual([]);
  });

  test("deleted Sandboxes leave nothing behind, nor does the box", async () => {
    const { items } = await box.client.list(sandboxes, { namespace });
    await Promise.all(items.map(({ metadata }) => box.delete(metadata.name ?? "")));
    expect((await box.client.list(sandboxSnapshots, { namespace })).items).toEqual([]);
    await expect.poll(listPods, soon).toEqual([]);
    // Files of a Sandbox that was deleted just before a kill are removed every five minutes, and at a start.
    await running.stop();
    running = start();
    await running.serving;
    await expect.poll(census, soon).toEqual(before);
    await running.stop();
    expect(await box.box.run("down", "--purge")).toMatchObject({ code: 0 });
    expect(await findShared(box.box.dataDir)).toEqual([]);
  });
});
