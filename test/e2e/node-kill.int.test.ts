import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../packages/node/src/layout.ts";
import { pods } from "../../packages/node/src/resources.ts";
import { findShared } from "../../packages/node/src/testing/traces.ts";
import { Box, buildCommandLine, whyNoBox } from "./box.ts";
import { BoxProcess } from "./node-box-process.ts";
import { type Census, takeCensus } from "./node-census.ts";
import { machineAsSeen, machineOf } from "./node-machine.ts";
import { isReady, namespace, Storm } from "./node-storm.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** `make test-node-kill` sets 50. */
const kills = Number(process.env["KILLS"] ?? 8);
const podCount = 20;
const patience = { timeout: 60_000, interval: 200 };

describe.skipIf(reason !== undefined)("a box that is killed repeatedly", { timeout: 1_200_000 }, () => {
  let box: Box;
  let running: BoxProcess;
  let storm: Storm;
  let before: Census;

  const start = (): BoxProcess => new BoxProcess(box.dataDir, box.listen);
  const inApi = async (): Promise<readonly Pod[]> => (await storm.client.list(pods)).items;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    running = start();
    await running.serving;
    storm = await Storm.open(box.kubeconfig);
  });
  afterAll(async () => {
    await storm?.[Symbol.asyncDispose]();
    await running?.stop();
    await box?.[Symbol.asyncDispose]();
  });

  test(`survives ${kills} kills while ${podCount} Pods come and go`, async () => {
    // The first Pod creates resources that all Pods share. They do not count as leftovers.
    await storm.runOne();
    await expect.poll(inApi, patience).toEqual([]);
    await expect.poll(() => readdirSync(layoutOf(box.dataDir).trashDir), patience).toEqual([]);
    before = await takeCensus(box.dataDir);
    storm.begin(podCount);
    for (let round = 0; round < kills; round++) {
      // Not a wait for something: it moves the kill to another point.
      if (round % 3 > 0) await running.serving;
      await sleep((round * 377) % 2900);
      await running.kill();
      running = start();
    }
    await running.serving;
    await storm.end();
    console.log(`${kills} kills:`, storm.tally);
    expect(storm.tally.executed).toBeGreaterThan(0);
    expect(storm.tally.deleted).toBeGreaterThan(0);
  });

  test("the API and the machine have the same Pods afterwards", async () => {
    const unsettled = async (): Promise<Pod[]> =>
      (await inApi()).filter((pod) => pod.metadata?.deletionTimestamp !== undefined || !isReady(pod));
    await expect.poll(unsettled, patience).toEqual([]);
    const expected = machineOf(await inApi());
    await expect.poll(async () => machineAsSeen(await takeCensus(box.dataDir)), patience).toEqual(expected);
  });

  test("all Pods can be entered and deleted, and leave nothing behind", async () => {
    for (const { metadata } of await inApi()) {
      await storm.exec(metadata?.name ?? "");
      await storm.client.delete(pods, { namespace, name: metadata?.name ?? "" }, { gracePeriodSeconds: 1 });
    }
    await expect.poll(inApi, patience).toEqual([]);
    await expect.poll(() => takeCensus(box.dataDir), patience).toEqual(before);
  });

  test("down --purge leaves nothing on the machine", async () => {
    await running.stop();
    expect(await box.run("down", "--purge")).toMatchObject({ code: 0 });
    expect(await findShared(box.dataDir)).toEqual([]);
  });
});
