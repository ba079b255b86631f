import { setTimeout as sleep } from "node:timers/promises";
import { findCondition, type Sandbox, type SandboxSpec, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import type { StateBox } from "./state-box.ts";
import { namespace } from "./state-box.ts";
import { ask, type Known, witnessPod } from "./witness.ts";

/** Numbers from 0 to below 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // Mulberry32.
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Counts what succeeded while the box was killed. A test in which nothing succeeds proves nothing. */
export interface Tally {
  counted: number;
  slept: number;
  forked: number;
  rolledBack: number;
}

/** How long anything may take when the box is no longer killed. */
const patienceMs = 180_000;

/**
 * Lets Sandboxes sleep, wake, fork and roll back while the box is killed, and checks after each step that their memory is what it
 * must be. Every Sandbox does one thing at a time, so its counter is known exactly.
 */
export class StateStorm {
  readonly tally: Tally = { counted: 0, slept: 0, forked: 0, rolledBack: 0 };
  readonly #box: StateBox;
  readonly #lives: Promise<void>[] = [];
  /** When the box was killed for the last time. Nothing is late before that. */
  #calmSince = Number.POSITIVE_INFINITY;

  constructor(box: StateBox) {
    this.#box = box;
  }

  /** Starts Sandboxes and waits until they run. Then each begins its life. */
  async begin(count: number, seed: number): Promise<void> {
    const begun = Array.from({ length: count }, async (_, index) => {
      const name = `storm-${index}`;
      // One in four has sandboxd, which is told about each suspension, resume and fork.
      const spec = { podTemplate: witnessPod, ...(index % 4 === 0 && { runtime: "Injected" as const }) };
      await this.#box.run(name, spec);
      return new Life(this, { name, spec, known: await this.#ask(name, "tell") });
    });
    for (const [index, life] of (await Promise.all(begun)).entries()) {
      this.#lives.push(life.live(randomFrom(seed + index)));
    }
    // A failure must not be unhandled until `end` is called.
    for (const life of this.#lives) life.catch(() => undefined);
  }

  /** The box is no longer killed: waits until each Sandbox has finished what it does. Throws the first failure. */
  async end(): Promise<void> {
    this.#calmSince = Date.now();
    await Promise.all(this.#lives);
  }

  get stopped(): boolean {
    return Number.isFinite(this.#calmSince);
  }

  get #isLate(): boolean {
    return Date.now() > this.#calmSince + patienceMs;
  }

  /** Repeats a call of the API until it succeeds: the box may be away. */
  async call<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (this.#isLate || isReason(error, "Invalid") || isReason(error, "BadRequest")) throw error;
        await sleep(50);
      }
    }
  }

  create(name: string, spec: object): Promise<unknown> {
    return this.call(() => this.#box.create(name, spec).catch(ignore("AlreadyExists")));
  }

  change(name: string, spec: object): Promise<unknown> {
    return this.call(() => this.#box.change(name, spec));
  }

  async delete(name: string): Promise<void> {
    const key = { namespace, name };
    await this.call(() => this.#box.client.delete(sandboxes, key).catch(ignore("NotFound")));
    await this.until(`${name} is gone`, async () => !(await this.#box.exists(sandboxes, name)));
  }

  async takeSnapshot(name: string, sandbox: string): Promise<void> {
    await this.call(() =>
      this.#box.client
        .create(sandboxSnapshots, {
          apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
          kind: "SandboxSnapshot",
          metadata: { namespace, name },
          spec: { sandboxRef: { name: sandbox } },
        })
        .catch(ignore("AlreadyExists")),
    );
    await this.until(`${name} is ready`, async () => {
      const { status } = await this.#box.client.get(sandboxSnapshots, { namespace, name });
      const failed = findCondition(status?.conditions, "Failed");
      if (failed?.status === "True") throw new Fault(`snapshot ${name}: ${failed.reason}: ${failed.message}`);
      return findCondition(status?.conditions, "Ready")?.status === "True";
    });
  }

  async deleteSnapshot(name: string): Promise<void> {
    await this.call(() => this.#box.client.delete(sandboxSnapshots, { namespace, name }).catch(ignore("NotFound")));
    await this.until(`${name} is gone`, async () => !(await this.#box.exists(sandboxSnapshots, name)));
  }

  /** Waits until a condition of a Sandbox is True, and returns the Sandbox. */
  async condition(name: string, type: string): Promise<Sandbox> {
    let found: Sandbox | undefined;
    await this.until(`${name} is ${type}`, async () => {
      found = await this.#box.read(name);
      return findCondition(found.status?.conditions, type)?.status === "True";
    }).catch((error: unknown) => {
      throw new Fault(`${String(error)}: ${JSON.stringify(found?.status)}`);
    });
    return found as Sandbox;
  }

  async until(what: string, check: () => Promise<boolean>): Promise<void> {
    for (;;) {
      try {
        if (await check()) return;
      } catch (error) {
        if (error instanceof Fault) throw error;
      }
      if (this.#isLate) throw new Fault(`timed out: ${what}`);
      await sleep(100);
    }
  }

  /** Asks the program of a Sandbox that is ready. */
  async #ask(name: string, command: "count" | "tell"): Promise<Known> {
    const { status } = await this.condition(name, "Ready");
    return ask(status?.podIPs?.[0] ?? "", command);
  }

  ask(name: string): Promise<Known> {
    return this.call(() => this.#ask(name, "tell"));
  }

  /** Lets a Sandbox count, once. Whether it has counted is unknown if this fails. */
  count(name: string): Promise<Known> {
    return this.#ask(name, "count");
  }
}

/** What must never happen. It is not repeated. */
class Fault extends Error {}

const ignore =
  (reason: "AlreadyExists" | "NotFound") =>
  (error: unknown): undefined => {
    if (!isReason(error, reason)) throw error;
  };

/** What one Sandbox does, and what it must remember. */
class Life {
  readonly #storm: StateStorm;
  readonly #name: string;
  readonly #spec: Partial<SandboxSpec>;
  readonly #identity: string;
  #count: number;
  #epoch = 0;
  #snapshots = 0;

  constructor(storm: StateStorm, { name, spec, known }: { name: string; spec: Partial<SandboxSpec>; known: Known }) {
    this.#storm = storm;
    this.#name = name;
    this.#spec = spec;
    this.#identity = known.identity;
    this.#count = known.count;
  }

  async live(random: () => number): Promise<void> {
    const steps = [() => this.#sleep(), () => this.#sleep(), () => this.#fork(), () => this.#rollBack()];
    while (!this.#storm.stopped) {
      await this.#increase();
      await steps[Math.floor(random() * steps.length)]?.();
      this.#check(await this.#storm.ask(this.#name));
    }
  }

  async #increase(): Promise<void> {
    const before = this.#count;
    try {
      this.#count = (await this.#storm.count(this.#name)).count;
      this.#storm.tally.counted += 1;
    } catch {
      // The answer was lost, so the program may have counted or not.
      this.#count = (await this.#storm.ask(this.#name)).count;
    }
    if (this.#count !== before + 1 && this.#count !== before) this.#fail(`counted from ${before} to ${this.#count}`);
  }

  #check(known: Known): void {
    const { identity, count, file, epoch } = known;
    const wanted = { identity: this.#identity, count: this.#count, file: this.#count };
    if (identity !== wanted.identity || count !== wanted.count || file !== wanted.file || epoch < this.#epoch)
      this.#fail(`knows ${JSON.stringify(known)} instead of ${JSON.stringify(wanted)} in epoch ${this.#epoch}`);
    this.#epoch = epoch;
  }

  #fail(text: string): never {
    throw new Fault(`${this.#name} ${text}`);
  }

  async #suspend(): Promise<void> {
    await this.#storm.change(this.#name, { operatingMode: "Suspended" });
    const { status } = await this.#storm.condition(this.#name, "Suspended");
    if (status?.suspension?.depth !== "Memory") this.#fail(`was suspended as ${JSON.stringify(status)}`);
  }

  async #sleep(): Promise<void> {
    await this.#suspend();
    await this.#storm.change(this.#name, { operatingMode: "Running" });
    await this.#storm.condition(this.#name, "Ready");
    this.#storm.tally.slept += 1;
  }

  /** The fork knows what the Sandbox knows, and counts on its own. */
  async #fork(): Promise<void> {
    const snapshot = await this.#snapshot();
    const name = `${snapshot}-fork`;
    await this.#storm.create(name, { ...this.#spec, restoreFrom: { snapshotRef: { name: snapshot } } });
    const known = await this.#storm.ask(name);
    this.#check({ ...known, epoch: known.epoch - 1 });
    await this.#storm.delete(name);
    await this.#storm.deleteSnapshot(snapshot);
    this.#storm.tally.forked += 1;
  }

  /** What was counted after the snapshot is forgotten. */
  async #rollBack(): Promise<void> {
    const snapshot = await this.#snapshot();
    const kept = this.#count;
    await this.#increase();
    await this.#suspend();
    const restoreFrom = { snapshotRef: { name: snapshot } };
    await this.#storm.change(this.#name, { operatingMode: "Running", restoreFrom });
    await this.#storm.condition(this.#name, "Ready");
    this.#count = kept;
    await this.#storm.deleteSnapshot(snapshot);
    this.#storm.tally.rolledBack += 1;
  }

  async #snapshot(): Promise<string> {
    this.#snapshots += 1;
    const name = `${this.#name}-s${this.#snapshots}`;
    await this.#storm.takeSnapshot(name, this.#name);
    return name;
  }
}
