import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, NodeError } from "../errors.ts";
import { StateError } from "../state/state-error.ts";
import type { TaskState } from "./observed.ts";

interface Task {
  state: TaskState;
  readonly stop: AbortController;
  readonly settled: Promise<void>;
}

type Work = (signal: AbortSignal) => Promise<string | void>;

/** How long a pass waits for a task. Most tasks end within this time, which saves a second pass. */
const patienceMs = 200;

/**
 * Background tasks, image pulls and hooks, that are too slow for a pass. Tasks do not write records. They exist in memory
 * only: after a restart of the node they begin again.
 */
export class Tasks implements AsyncDisposable {
  readonly #byPod = new Map<string, Map<string, Task>>();
  readonly #onSettled: (uid: string) => void;

  constructor(onSettled: (uid: string) => void) {
    this.#onSettled = onSettled;
  }

  /** The states of a Pod's tasks by name. */
  of(uid: string): Record<string, TaskState> {
    const tasks = [...(this.#byPod.get(uid) ?? [])];
    return Object.fromEntries(tasks.map(([name, { state }]) => [name, state]));
  }

  /** Starts a task unless it exists, and waits for it for a moment. */
  async begin(uid: string, name: string, work: Work): Promise<void> {
    const task = this.start(uid, name, work);
    if (task === undefined) return;
    const waiting = new AbortController();
    await Promise.race([task.settled, sleep(patienceMs, undefined, { signal: waiting.signal }).catch(() => undefined)]);
    waiting.abort();
  }

  /** Starts a task unless it exists. The result of `work` becomes part of the task's state. */
  start(uid: string, name: string, work: Work): Pick<Task, "settled"> | undefined {
    const tasks = this.#byPod.get(uid) ?? new Map<string, Task>();
    this.#byPod.set(uid, tasks);
    if (tasks.has(name)) return undefined;
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      try {
        const result = (await work(stop.signal)) ?? undefined;
        task.state = { state: "done", ...(result !== undefined && { result }) };
      } catch (error) {
        const reason = error instanceof NodeError || error instanceof StateError ? error.reason : "Error";
        task.state = { state: "failed", reason, message: messageOf(error) };
      }
      if (!stop.signal.aborted) this.#onSettled(uid);
    };
    const task: Task = { state: { state: "running" }, stop, settled: Promise.resolve().then(run) };
    tasks.set(name, task);
    return task;
  }

  /** Aborts and removes a task; without a name, all tasks of the Pod. */
  forget(uid: string, name?: string): void {
    const tasks = this.#byPod.get(uid);
    for (const [one, { stop }] of tasks ?? []) {
      if (name !== undefined && one !== name) continue;
      stop.abort();
      tasks?.delete(one);
    }
    if (tasks?.size === 0) this.#byPod.delete(uid);
  }

  /** Aborts a task, waits until it has ended, and removes it. */
  async end(uid: string, name: string): Promise<void> {
    const task = this.#byPod.get(uid)?.get(name);
    this.forget(uid, name);
    await task?.settled;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#byPod.values()].flatMap((tasks) => [...tasks.values()]);
    for (const { stop } of all) stop.abort();
    await Promise.all(all.map(({ settled }) => settled));
  }
}
