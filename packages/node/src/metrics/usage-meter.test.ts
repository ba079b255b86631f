import { expect, test } from "vitest";
import { figuresBetween, UsageMeter, type UsageSample } from "./usage-meter.ts";

const sample = (atMs: number, cpuSeconds: number, id = "u_main_0"): UsageSample => ({
  atMs,
  node: { cpuSeconds: 2 * cpuSeconds, workingSetBytes: 500 },
  pods: [{ uid: "u", containers: [{ name: "main", id, cpuSeconds, workingSetBytes: 100, diskBytes: 7 }] }],
});

test("CPU use is the CPU time between two samples divided by the time between them", () => {
  expect(figuresBetween(sample(1000, 3), sample(3000, 4))).toEqual({
    atMs: 3000,
    windowMs: 2000,
    node: { cpuNanoCores: 1e9, memoryBytes: 500 },
    pods: new Map([["u", [{ name: "main", cpuNanoCores: 5e8, memoryBytes: 100, diskBytes: 7 }]]]),
  });
});

test("a container that was restarted in between has no figures yet", () => {
  expect(figuresBetween(sample(1000, 3), sample(3000, 0.1, "u_main_1")).pods).toEqual(new Map());
});

test("requests at the same time share one measurement, and later ones its figures", async () => {
  let taken = 0;
  const meter = new UsageMeter(async () => sample(Date.now(), (taken += 1)));
  const [first, second] = await Promise.all([meter.figures(), meter.figures()]);
  expect(first).toBe(second);
  expect(await meter.figures()).toBe(first);
  expect(taken).toBe(2);
});

test("containers that started since the last sample have figures at once, as have those that ran before", async () => {
  let names = ["old"];
  const meter = new UsageMeter(async () => ({
    atMs: Date.now() - (names.length === 1 ? 10_000 : 0),
    node: { cpuSeconds: 1, workingSetBytes: 500 },
    pods: names.map((name) => ({
      uid: name,
      containers: [{ name, id: name, cpuSeconds: 1, workingSetBytes: 100, diskBytes: 7 }],
    })),
  }));
  expect([...(await meter.figures()).pods.keys()]).toEqual(["old"]);
  names = ["old", "new"];
  const { pods, windowMs } = await meter.figures();
  expect([...pods.keys()]).toEqual(["old", "new"]);
  expect(windowMs).toBeLessThan(10_000);
});
