import { expect, test } from "vitest";
import { NodeError } from "../errors.ts";
import { Tasks } from "./tasks.ts";

test("a task starts once, and its end is reported", async () => {
  const settled: string[] = [];
  await using tasks = new Tasks((uid) => settled.push(uid));
  let runs = 0;
  const work = (): Promise<void> => {
    runs += 1;
    return Promise.resolve();
  };
  await tasks.begin("a", "good", work);
  await tasks.begin("a", "good", work);
  await tasks.begin("b", "bad", () => Promise.reject(new NodeError("ErrImagePull", "no such image")));
  expect([runs, settled]).toEqual([1, ["a", "b"]]);
  expect(tasks.of("a")).toEqual({ good: { state: "done" } });
  expect(tasks.of("b")).toEqual({ bad: { state: "failed", reason: "ErrImagePull", message: "no such image" } });
});

test("a started task is not waited for", async () => {
  await using tasks = new Tasks(() => undefined);
  const { promise, resolve } = Promise.withResolvers<void>();
  const settled = tasks.start("a", "slow", () => promise)?.settled;
  expect(tasks.of("a")).toEqual({ slow: { state: "running" } });
  resolve();
  await settled;
  expect(tasks.of("a")).toEqual({ slow: { state: "done" } });
});

test("a forgotten task is aborted without a report, and can start again", async () => {
  const settled: string[] = [];
  await using tasks = new Tasks((uid) => settled.push(uid));
  const signals: AbortSignal[] = [];
  const hang = (signal: AbortSignal): Promise<void> => {
    signals.push(signal);
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  };
  await tasks.begin("a", "hook", hang);
  expect(tasks.of("a")).toEqual({ hook: { state: "running" } });
  tasks.forget("a");
  expect([tasks.of("a"), signals[0]?.aborted]).toEqual([{}, true]);
  await tasks.begin("a", "hook", hang);
  expect([signals.length, settled]).toEqual([2, []]);
});
