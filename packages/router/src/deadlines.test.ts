import { expect, test } from "vitest";
import { Deadlines, type Timed } from "./deadlines.ts";

/** Resolves with the time until the deadline fired. */
function until(deadlines: Deadlines, delayMs: number): Promise<number> {
  const started = performance.now();
  return new Promise((resolve) => {
    const timed: Timed = {
      deadlineMs: deadlines.after(delayMs),
      onDeadline: () => {
        deadlines.forget(timed);
        resolve(performance.now() - started);
      },
    };
    deadlines.watch(timed);
  });
}

test("fires after a deadline, never before", async () => {
  using deadlines = new Deadlines(2);
  const [late, early] = [until(deadlines, 20), until(deadlines, 5)];
  expect(await early).toBeGreaterThanOrEqual(5);
  expect(await late).toBeGreaterThanOrEqual(20);
  expect(await until(deadlines, 5)).toBeGreaterThanOrEqual(5);
});

test("does not fire for deadlines that were moved or forgotten", async () => {
  using deadlines = new Deadlines(1);
  const told: string[] = [];
  const moved = { deadlineMs: deadlines.after(3), onDeadline: () => void told.push("moved") };
  const forgotten = { deadlineMs: deadlines.after(3), onDeadline: () => void told.push("forgotten") };
  for (const timed of [moved, forgotten]) deadlines.watch(timed);
  moved.deadlineMs = deadlines.after(60_000);
  deadlines.forget(forgotten);
  await until(deadlines, 15);
  expect(told).toEqual([]);
});
