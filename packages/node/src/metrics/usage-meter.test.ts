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
