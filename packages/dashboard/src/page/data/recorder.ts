/**
 * Records what happens while the page is open, for plots: nothing keeps it elsewhere. `useRecorder()` returns it, and
 * `useRecorded((recorder) => …)` renders again when it has recorded more. It runs for one scope.
 */
import type { Sandbox } from "@agent-sandbox/api";
import { countStates, knownState, type SandboxState } from "../model/sandbox-state.ts";
import { addSample, type Sample } from "../model/series.ts";
import { type Measured, measured, measuredPod } from "../model/usage.ts";
import { WakeMeter, type WokenSandbox } from "../model/wakes.ts";
import type { Backend } from "./backend.ts";
import { keyOf, nodeMetrics, podMetrics, sandboxClaims, sandboxes, sandboxWarmPools } from "./resources.ts";

const everyMs = 5000;
/** An hour. */
const mostSamples = 720;
/** Of all Pods together: an hour for 80 Pods, and less for more. Each Pod has at least a minute. */
const mostPodSamples = 60_000;
const fewestPodSamples = 12;
const mostWakes = 200;
const mostClaims = 20_000;

export type SeriesName = "nodeCpu" | "nodeMemory" | "sandboxCpu" | "sandboxMemory" | "warmReady" | "running";

export interface PodSeries {
  readonly cpu: readonly Sample[];
  readonly memory: readonly Sample[];
}

export class Recorder {
  readonly #backend: Backend;
  readonly #namespace: string | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #wakeMeter = new WakeMeter();
  readonly #claimTimes = new Map<string, number>();
  readonly #series = new Map<SeriesName, readonly Sample[]>();
  readonly #pods = new Map<string, PodSeries>();
  #wakes: readonly WokenSandbox[] = [];
  /** Changes with each record. */
  #version = 0;

  constructor(backend: Backend, namespace: string | undefined) {
    [this.#backend, this.#namespace] = [backend, namespace];
  }

  /** Returns a function that stops it. */
  start(): () => void {
    const scope = { namespace: this.#namespace };
    const sandboxStore = this.#backend.store(sandboxes, scope);
    const claimStore = this.#backend.store(sandboxClaims, scope);
    const poolStore = this.#backend.store(sandboxWarmPools, scope);
    const nodeStore = this.#backend.store(nodeMetrics);
    const podStore = this.#backend.store(podMetrics, scope);
    const sample = (): void => {
      const pools = poolStore.snapshot();
      const ready = pools.items.reduce((sum, { status }) => sum + (status?.readyReplicas ?? 0), 0);
      if (pools.state === "live") this.#add("warmReady", ready);
      const running = sandboxStore.snapshot();
      if (running.state === "live") this.#add("running", countStates(running.items).running);
      this.#changed();
    };
    const stops = [
      sandboxStore.subscribe(() => this.#observeSandboxes(sandboxStore.snapshot().items)),
      claimStore.subscribe(() => {
        for (const { metadata } of claimStore.snapshot().items) {
          this.#claimTimes.set(metadata.uid ?? "", Date.parse(metadata.creationTimestamp ?? ""));
        }
        for (const uid of this.#claimTimes.keys()) {
          if (this.#claimTimes.size <= mostClaims) break;
          this.#claimTimes.delete(uid);
        }
      }),
      poolStore.subscribe(() => undefined),
      nodeStore.subscribe(() => this.#recordNodes(nodeStore.snapshot().items.map(({ usage }) => measured(usage)))),
      podStore.subscribe(() => {
        const { items, state } = podStore.snapshot();
        if (state === "live") this.#recordPods(new Map(items.map((pod) => [keyOf(pod), measuredPod(pod)])));
      }),
    ];
    const timer = setInterval(sample, everyMs);
    const first = setTimeout(sample, everyMs / 5);
    return () => {
      clearInterval(timer);
      clearTimeout(first);
      for (const stop of stops) stop();
    };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly version = (): number => this.#version;

  series(name: SeriesName): readonly Sample[] {
    return this.#series.get(name) ?? [];
  }

  /** The same object until the Pod is measured again. */
  pod(key: string): PodSeries | undefined {
    return this.#pods.get(key);
  }

  get wakes(): readonly WokenSandbox[] {
    return this.#wakes;
  }

  get claimTimes(): Iterable<number> {
    return this.#claimTimes.values();
  }

  #observeSandboxes(items: readonly Sandbox[]): void {
    const states = new Map<string, SandboxState>(items.map((item) => [keyOf(item), knownState(item).state]));
    const woken = this.#wakeMeter.observe(states, Date.now());
    if (woken.length === 0) return;
    this.#wakes = [...this.#wakes, ...woken].slice(-mostWakes);
    this.#changed();
  }

  #recordNodes(nodes: readonly Measured[]): void {
    if (nodes.length === 0) return;
    this.#add(
      "nodeCpu",
      nodes.reduce((sum, { cpu }) => sum + cpu, 0),
    );
    this.#add(
      "nodeMemory",
      nodes.reduce((sum, { memory }) => sum + memory, 0),
    );
    this.#changed();
  }

  #recordPods(pods: ReadonlyMap<string, Measured>): void {
    const at = Date.now();
    const most = Math.max(fewestPodSamples, Math.min(mostSamples, Math.floor(mostPodSamples / pods.size)));
    let [cpu, memory] = [0, 0];
    for (const key of this.#pods.keys()) if (!pods.has(key)) this.#pods.delete(key);
    for (const [key, one] of pods) {
      const before = this.#pods.get(key);
      this.#pods.set(key, {
        cpu: addSample(before?.cpu ?? [], { at, value: one.cpu }, most),
        memory: addSample(before?.memory ?? [], { at, value: one.memory }, most),
      });
      cpu += one.cpu;
      memory += one.memory;
    }
    this.#add("sandboxCpu", cpu);
    this.#add("sandboxMemory", memory);
    this.#changed();
  }

  #add(name: SeriesName, value: number): void {
    this.#series.set(name, addSample(this.series(name), { at: Date.now(), value }, mostSamples));
  }

  #changed(): void {
    this.#version++;
    for (const listener of this.#listeners) listener();
  }
}
