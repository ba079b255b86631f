import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, NodeError } from "../errors.ts";
import type { TaskState } from "./observed.ts";

interface Task {
  state: TaskState;
  readonly stop: AbortController;
  readonly settled: Promise<void>;
}

/** Most of what is done beside the passes is done in a moment; for so long a pass waits for it. */
const patienceMs = 200;

/**
 * Work that may take long and must not hold up the passes: pulls and hooks. It writes no records. It is in memory alone;
 * after a restart of the node it is begun anew.
 */
export class Tasks implements AsyncDisposable {
  readonly #byPod = new Map<string, Map<string, Task>>();
  readonly #onSettled: (uid: string) => void;

  constructor(onSettled: (uid: string) => void) {
    this.#onSettled = onSettled;
  }

  /** By name, as far as it has not been forgotten. */
  of(uid: string): Record<string, TaskState> {
    const tasks = [...(this.#byPod.get(uid) ?? [])];
    return Object.fromEntries(tasks.map(([name, { state }]) => [name, state]));
  }

  /** Begins what is not begun, and waits for it for a moment. What the work returns is kept with its state. */
  async begin(uid: string, name: string, work: (signal: AbortSignal) => Promise<string | void>): Promise<void> {
    const tasks = this.#byPod.get(uid) ?? new Map<string, Task>();
    this.#byPod.set(uid, tasks);
    if (tasks.has(name)) return;
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      try {
        const result = (await work(stop.signal)) ?? undefined;
        task.state = { state: "done", ...(result !== undefined && { result }) };
      } catch (error) {
        const reason = error instanceof NodeError ? error.reason : "Error";
        task.state = { state: "failed", reason, message: messageOf(error) };
      }
      if (!stop.signal.aborted) this.#onSettled(uid);
    };
    const task: Task = { state: { state: "running" }, stop, settled: Promise.resolve().then(run) };
    tasks.set(name, task);
    const waiting = new AbortController();
    await Promise.race([task.settled, sleep(patienceMs, undefined, { signal: waiting.signal }).catch(() => undefined)]);
    waiting.abort();
  }

  /** Stops it if it still goes on. Without a name: everything of the Pod. */
  forget(uid: string, name?: string): void {
    const tasks = this.#byPod.get(uid);
    for (const [one, { stop }] of tasks ?? []) {
      if (name !== undefined && one !== name) continue;
      stop.abort();
      tasks?.delete(one);
    }
    if (tasks?.size === 0) this.#byPod.delete(uid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#byPod.values()].flatMap((tasks) => [...tasks.values()]);
    for (const { stop } of all) stop.abort();
    await Promise.all(all.map(({ settled }) => settled));
  }
}
