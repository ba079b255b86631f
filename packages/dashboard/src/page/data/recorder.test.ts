import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Backend, Store } from "./backend.ts";
import type { Snapshot } from "./list-store.ts";
import { Recorder } from "./recorder.ts";
import { type KubeObject, type PodMetrics, podMetrics, type Resource } from "./resources.ts";

/** A store whose items the test sets. */
class FakeStore implements Store<KubeObject> {
  #items: readonly KubeObject[] = [];
  readonly #listeners = new Set<() => void>();
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly snapshot = (): Snapshot<KubeObject> => ({ items: this.#items, state: "live", since: 0 });
  readonly isIdle = (): boolean => this.#listeners.size === 0;

  set(items: readonly KubeObject[]): void {
    this.#items = items;
    for (const listener of this.#listeners) listener();
  }
}

const measured = (index: number): PodMetrics => ({
  metadata: { namespace: "default", name: `pod-${index}` },
  timestamp: "",
  containers: [{ name: "main", usage: { cpu: `${index + 1}m`, memory: "1Mi" } }],
});
const countOf = (recorder: Recorder, pods: number): number =>
  Array.from({ length: pods }, (_, index) => recorder.pod(`default/pod-${index}`)?.cpu.length ?? 0).reduce(
    (sum, one) => sum + one,
    0,
  );

let metrics: FakeStore;
let recorder: Recorder;
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  const stores = new Map<string, FakeStore>();
  const store = (resource: Resource<KubeObject>): FakeStore => {
    const key = `${resource.apiVersion} ${resource.kind}`;
    const found = stores.get(key) ?? new FakeStore();
    stores.set(key, found);
    return found;
  };
  metrics = store(podMetrics);
  recorder = new Recorder({ store } as unknown as Backend, undefined);
  stop = recorder.start();
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

function measure(pods: number, times: number): void {
  const items = Array.from({ length: pods }, (_, index) => measured(index));
  for (let time = 0; time < times; time++) {
    vi.advanceTimersByTime(5000);
    metrics.set(items);
  }
}

test("keeps an hour of a few Pods", () => {
  measure(3, 1000);
  expect(countOf(recorder, 3)).toBe(3 * 720);
  expect(recorder.pod("default/pod-1")?.cpu.at(-1)?.value).toBe(0.002);
  expect(recorder.series("sandboxCpu").at(-1)?.value).toBeCloseTo(0.006);
});

test("keeps a limited number of samples of all Pods together, also when Pods are added and removed", () => {
  measure(3, 720);
  measure(1000, 100);
  expect(countOf(recorder, 1000)).toBe(60_000);
  measure(4000, 30);
  expect(countOf(recorder, 4000)).toBe(60_000);
  measure(2, 1);
  expect(countOf(recorder, 4000)).toBe(2 * 16);
});
