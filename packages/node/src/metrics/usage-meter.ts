import { setTimeout as sleep } from "node:timers/promises";
import type { ContainerFigures, UsageFigures } from "@agent-sandbox/kube";

/** What was counted at one moment. */
export interface UsageSample {
  readonly atMs: number;
  readonly node: Counted;
  readonly pods: readonly CountedPod[];
}

export interface CountedPod {
  readonly uid: string;
  readonly containers: readonly CountedContainer[];
}

export interface CountedContainer extends Counted {
  readonly name: string;
  /** Changes when the container is restarted, because its counters then begin again. */
  readonly id: string;
  readonly diskBytes: number;
}

export interface Counted {
  /** CPU time since the start. */
  readonly cpuSeconds: number;
  readonly workingSetBytes: number;
}

/** Figures younger than this are answered again. Bounds what requests for them cost. */
const freshMs = 2000;
/** A sample older than this is not the beginning of a window: the average over it would hide what happens now. */
const longestWindowMs = 60_000;
/** How long a request waits for a second sample if there is none to compare with. */
const shortestWindowMs = 1000;

/**
 * Measures CPU use, which is the difference of two samples. Samples are taken only when figures are requested, so a box that
 * nobody watches spends nothing on them. Requests at the same time share one measurement.
 */
export class UsageMeter {
  readonly #take: () => Promise<UsageSample>;
  #last: UsageSample | undefined;
  #figures: UsageFigures | undefined;
  #measuring: Promise<UsageFigures> | undefined;

  constructor(take: () => Promise<UsageSample>) {
    this.#take = take;
  }

  async figures(): Promise<UsageFigures> {
    if (this.#figures !== undefined && Date.now() - this.#figures.atMs < freshMs) return this.#figures;
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  async #measure(): Promise<UsageFigures> {
    let before = this.#last;
    let after = await this.#take();
    if (before === undefined || after.atMs - before.atMs > longestWindowMs || hasOthers(before, after)) {
      await sleep(shortestWindowMs);
      before = after;
      after = await this.#take();
    }
    this.#last = after;
    this.#figures = figuresBetween(before, after);
    return this.#figures;
  }
}

const containersOf = ({ pods }: UsageSample): readonly CountedContainer[] =>
  pods.flatMap(({ containers }) => containers);

/** Whether containers have started between two samples: they would have no figures until the next request. */
function hasOthers(before: UsageSample, after: UsageSample): boolean {
  const known = new Set(containersOf(before).map(({ id }) => id));
  return containersOf(after).some(({ id }) => !known.has(id));
}

/** The use between two samples. Containers that are not in both have no figures. */
export function figuresBetween(before: UsageSample, after: UsageSample): UsageFigures {
  const windowMs = Math.max(1, after.atMs - before.atMs);
  const earlier = new Map(containersOf(before).map((one) => [one.id, one]));
  const nanoCores = (from: Counted, to: Counted): number =>
    Math.max(0, Math.round(((to.cpuSeconds - from.cpuSeconds) * 1e12) / windowMs));
  const pods = new Map<string, readonly ContainerFigures[]>();
  for (const { uid, containers } of after.pods) {
    const figures = containers.flatMap((one): ContainerFigures[] => {
      const from = earlier.get(one.id);
      if (from === undefined) return [];
      const { name, workingSetBytes: memoryBytes, diskBytes } = one;
      return [{ name, cpuNanoCores: nanoCores(from, one), memoryBytes, diskBytes }];
    });
    if (figures.length > 0) pods.set(uid, figures);
  }
  const node = { cpuNanoCores: nanoCores(before.node, after.node), memoryBytes: after.node.workingSetBytes };
  return { atMs: after.atMs, windowMs, node, pods };
}
