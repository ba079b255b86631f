import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startRouter } from "@agent-sandbox/router";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { jsonOf } from "./ask.ts";
import { DataPlaneBox } from "./data-plane-box.ts";
import { manifest } from "./manifest.ts";
import { podAddress } from "./pod-facts.ts";
import { askTogether, idsOf, runCarefully, Sleeper, wakeable } from "./sleeper.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const runtimes = ["runc", "gvisor"] as const;
/** A port that nothing listens on. */
const nowhere = "127.0.0.1:1/none:latest";
const ok = (ids: readonly string[]): number[] => ids.map(() => 200);

describe.skipIf(reason !== undefined)("two hundred requests to a sleeping sandbox", { timeout: 150_000 }, () => {
  let box: DataPlaneBox;
  let sleepers: Sleeper[];
  let idler: Sleeper;

  beforeAll(async () => {
    box = await DataPlaneBox.start();
    const wanted = runtimes.map((runtime) => manifest({ name: `on-${runtime}`, runtime, spec: wakeable }));
    const idle = manifest({ name: "idler", runtime: "runc", spec: { idlePolicy: { suspendAfterSeconds: 10 } } });
    const subjects = await box.subjects([...wanted, idle]);
    const all = subjects.map(({ name }) => new Sleeper(box, name));
    sleepers = all.slice(0, 2);
    idler = all[2] as Sleeper;
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const podCounts = (): Promise<number[]> =>
    Promise.all(sleepers.map(async (sleeper) => (await sleeper.counted()).pods));

  /** Each id arrived once, in its own sandbox and in no other. */
  async function expectOnce(ids: (sleeper: Sleeper) => readonly string[], label: string): Promise<void> {
    for (const sleeper of sleepers) {
      const { counts } = await sleeper.counted();
      expect(counts.filter((each) => each.includes(label)).sort()).toEqual([...ids(sleeper)].sort());
    }
  }

  test.for(runtimes)("on %s: one resume, each answered once", async (runtime) => {
    const sleeper = sleepers[runtimes.indexOf(runtime)] as Sleeper;
    const { pods } = await sleeper.counted();
    const wakes = sleeper.wakes();
    await sleeper.putToSleep();
    const ids = idsOf(`plain-${sleeper.name}`);
    const answers = await askTogether(sleeper.through(box.router), ids);
    expect(answers.map(({ status }) => status)).toEqual(ok(ids));
    const after = await sleeper.counted();
    expect([after.pods, sleeper.wakes()]).toEqual([pods + 1, wakes + 1]);
    expect(after.counts.filter((id) => id.startsWith("plain")).sort()).toEqual([...ids].sort());
  });

  test.for([
    ["are held", 0],
    ["are being answered", 40],
  ] as const)("the box is killed while they %s, and comes back", async ([, answeredBefore]) => {
    const label = `killed${answeredBefore}`;
    const pods = await podCounts();
    const wakes = sleepers.map((sleeper) => sleeper.wakes());
    await Promise.all(sleepers.map((sleeper) => sleeper.putToSleep()));
    const ids = (sleeper: Sleeper): string[] => idsOf(`${label}-${sleeper.name}`);
    let answered = 0;
    const asked = sleepers.flatMap((sleeper) =>
      ids(sleeper).map(async (id) => {
        const { status, text } = await runCarefully(
          sleeper.through(box.router),
          id,
          `sh -c 'echo ${id} >> /var/tmp/counts'`,
        );
        answered += 1;
        return [status, text];
      }),
    );
    const isTime = (): boolean =>
      answeredBefore > 0
        ? answered >= answeredBefore
        : sleepers.every((sleeper, index) => sleeper.wakes() > (wakes[index] ?? 0));
    await expect.poll(isTime, { timeout: 60_000, interval: 10 }).toBe(true);
    box.kill();
    await box.up();
    const outcomes = await Promise.all(asked);
    expect(new Set(outcomes.map(String))).toEqual(new Set(['200,{"stdout":"","stderr":"","exit_code":0}']));
    await expectOnce(ids, label);
    expect(await podCounts()).toEqual(pods.map((count) => count + 1));
    expect(sleepers.map((sleeper) => sleeper.wakes())).toEqual(wakes.map((count) => count + 1));
  });

  test("the addresses of the sandboxes are exchanged in the meantime", async () => {
    const names = sleepers.map(({ name }) => name);
    const before = await Promise.all(names.map((name) => podAddress(box, name)));
    const uids = await Promise.all(sleepers.map(async (sleeper) => (await sleeper.object()).metadata.uid ?? ""));
    // A separate router, as in a cluster, which keeps its state when the box is killed.
    const client = await box.client();
    await using router = await startRouter({ client, listen: { port: 0 }, shutdownMs: 2000 });
    await router.ready;
    const address = router.address ?? { host: "", port: 0 };
    for (const sleeper of sleepers) expect((await sleeper.through(address).legacy("/")).status).toBe(200);
    await Promise.all(sleepers.map((sleeper) => sleeper.putToSleep()));
    box.kill();
    const file = join(box.box.dataDir, "node/addresses.json");
    const homes = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
    const [first = "", second = ""] = uids;
    writeFileSync(file, JSON.stringify({ ...homes, [first]: before[1], [second]: before[0] }));
    const ids = (sleeper: Sleeper): string[] => idsOf(`moved-${sleeper.name}`);
    const asked = sleepers.map((sleeper) => askTogether(sleeper.through(address), ids(sleeper)));
    await box.up();
    const answers = (await Promise.all(asked)).flat();
    expect(new Set(answers.map(({ status, text }) => `${status} ${status === 200 ? "" : text}`))).toEqual(
      new Set(["200 "]),
    );
    expect(await Promise.all(names.map((name) => podAddress(box, name)))).toEqual(before.toReversed());
    await expectOnce(ids, "moved");
  });

  test("the wake-up fails: all requests get the reason, none arrives, and the next one succeeds", async () => {
    const pods = await podCounts();
    const images = await Promise.all(sleepers.map((sleeper) => sleeper.object()));
    const withImage = (index: number, image: string): object => {
      const [container] = images[index]?.spec.podTemplate.spec.containers ?? [];
      return { spec: { podTemplate: { spec: { containers: [{ ...container, image }] } } } };
    };
    await Promise.all(
      sleepers.map(async (sleeper, index) => {
        await sleeper.putToSleep();
        await sleeper.patch(withImage(index, nowhere));
        const answers = await askTogether(sleeper.through(box.router), idsOf(`failed-${sleeper.name}`));
        const told = answers.map((answer) => `${answer.status} ${jsonOf<{ reason?: string }>(answer).reason}`);
        expect(new Set(told)).toEqual(new Set(["503 ImageUnavailable"]));
        await sleeper.putToSleep();
        await sleeper.patch(withImage(index, "host"));
        const again = idsOf(`again-${sleeper.name}`);
        const good = await askTogether(sleeper.through(box.router), again);
        expect(good.map(({ status }) => status)).toEqual(ok(again));
      }),
    );
    await expectOnce(() => [], "failed");
    await expectOnce((sleeper) => idsOf(`again-${sleeper.name}`), "again");
    expect(await podCounts()).toEqual(pods.map((count) => count + 1));
  });

  test("a sandbox that was suspended because it was idle", async () => {
    await idler.asleep();
    expect((await idler.object()).spec.operatingMode).not.toBe("Suspended");
    const ids = idsOf("idle");
    const answers = await askTogether(idler.through(box.router), ids);
    expect(answers.map(({ status }) => status)).toEqual(ok(ids));
    const { counts, pods } = await idler.counted();
    expect([counts.sort(), pods]).toEqual([[...ids].sort(), 2]);
  });
});
