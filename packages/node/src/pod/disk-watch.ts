import type { Pod } from "@agent-sandbox/api";
import { type Logger, systemScheduler } from "@agent-sandbox/kube";
import { diskSpace, shortage } from "../image/disk-room.ts";
import type { DiskUsage } from "../metrics/pod-usage.ts";
import { FairLimiter } from "../system/fair-limiter.ts";
import { countDisk } from "./count-disk.ts";
import {
  type ClaimedVolume,
  claimedVolumesOf,
  type DiskLimit,
  type DiskPlace,
  diskLimitsOf,
  excessOf,
  overfull,
  pathsOfContainer,
  pathsOfPod,
} from "./disk-limits.ts";
import { choosePod, evictionFor, type PodDisk, type Shortage, waitFor } from "./disk-pressure.ts";
import type { PodEvent } from "./effects.ts";
import type { Machine } from "./machine.ts";
import type { Problem } from "./status.ts";

type Limits = ReadonlyMap<string, readonly DiskLimit[]>;

export interface DiskWatchOptions {
  readonly machine: Machine;
  readonly podOf: (uid: string) => Pod | undefined;
  readonly recordEvent: (pod: Pod, event: PodEvent) => void;
  /** Called when a Pod exceeds a limit. */
  readonly onExcess: (uid: string) => void;
  readonly log: Logger;
}

/** Pods counted at the same time: in total, and for one namespace. */
const counting = { total: 2, perKey: 1 };

/**
 * Measures the disk usage of Pods periodically and finds the Pods to evict: those above their limits, and the largest Pod when
 * the free space falls below the reserve. No limit of the kernel works for folders on every filesystem, so a Pod may exceed
 * its limit between two measurements.
 */
export class DiskWatch implements DiskUsage, AsyncDisposable {
  readonly #options: DiskWatchOptions;
  readonly #excess = new Map<string, Problem>();
  /** The volumes of claims by Pod, and the claims that an event has reported as overfull. */
  #claims: ReadonlyMap<string, readonly ClaimedVolume[]> = new Map();
  #overfull: ReadonlySet<string> = new Set();
  /** The Sandbox whose kept root filesystem a Pod writes to, by the Pod's UID. */
  #keptFor: ReadonlyMap<string, string | undefined> = new Map();
  /** Bytes by path, from the last measurement. */
  readonly #usage = new Map<string, number>();
  readonly #limiter = new FairLimiter(counting);
  #shortage: Shortage | undefined;
  #measuring: Promise<void> = Promise.resolve();
  #timer: Disposable | undefined;
  #stopped = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#schedule();
  }

  excessOf(uid: string): Problem | undefined {
    return this.#excess.get(uid);
  }

  /** Why new Pods must wait, or undefined. */
  get pressure(): Problem | undefined {
    return this.#shortage === undefined ? undefined : waitFor(this.#shortage);
  }

  ofPod(uid: string): number {
    return this.#sum(uid, (pod) => pathsOfPod(pod, this.#placeOf(uid)));
  }

  ofContainer(uid: string, container: string): number {
    return this.#sum(uid, (pod) => pathsOfContainer(pod, this.#placeOf(uid), container));
  }

  claimsOf(uid: string): readonly (ClaimedVolume & { readonly usedBytes: number })[] {
    return (this.#claims.get(uid) ?? []).map((one) => ({ ...one, usedBytes: this.#usage.get(one.path) ?? 0 }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    await this.#measuring;
  }

  #placeOf(uid: string): DiskPlace {
    return { layout: this.#options.machine.layout, keptFor: this.#keptFor.get(uid) };
  }

  #sum(uid: string, pathsOf: (pod: Pod) => string[]): number {
    const pod = this.#options.podOf(uid);
    return pod === undefined ? 0 : pathsOf(pod).reduce((sum, path) => sum + (this.#usage.get(path) ?? 0), 0);
  }

  #schedule(): void {
    if (this.#stopped) return;
    const { machine, log } = this.#options;
    this.#timer = systemScheduler.schedule(machine.diskCheckMs, () => {
      this.#measuring = this.#measure()
        .catch((error: unknown) => log.warn({ error }, "disk usage not counted"))
        .then(() => this.#schedule());
    });
  }

  async #measure(): Promise<void> {
    const limits = await this.#limits();
    for (const uid of this.#excess.keys()) if (!limits.has(uid)) this.#excess.delete(uid);
    await this.#checkReserve(limits);
    const known = new Set([...limits.keys()].flatMap((uid) => this.#pathsOf(uid, limits)));
    for (const path of this.#usage.keys()) if (!known.has(path)) this.#usage.delete(path);
    await Promise.all([...limits].map(([uid, list]) => this.#countPod(uid, list, limits)));
    this.#recordOverfull();
  }

  /** When counting times out, the last figures stay. */
  async #countPod(uid: string, list: readonly DiskLimit[], limits: Limits): Promise<void> {
    const paths = this.#pathsOf(uid, limits);
    if (paths.length === 0 || this.#stopped) return;
    const found = await this.#limiter.run(this.#namespaceOf(uid), () => countDisk(paths));
    if (found === undefined) return this.#options.log.warn({ pod: uid }, "disk usage of a Pod not counted");
    for (const path of paths) this.#usage.set(path, found.get(path) ?? 0);
    const verdict = excessOf(list, this.#usage);
    if (verdict !== undefined) this.#reportExcess(uid, verdict);
  }

  #reportExcess(uid: string, verdict: Problem): void {
    if (this.#excess.has(uid)) return;
    this.#excess.set(uid, verdict);
    this.#options.onExcess(uid);
  }

  /** Evicts at most one Pod per check, because the space it frees is visible only at the next check. */
  async #checkReserve(limits: Limits): Promise<void> {
    const { machine } = this.#options;
    const short = shortage(await diskSpace(machine.layout.dataDir), machine.budget);
    this.#shortage = short;
    if (short === undefined) return;
    const count = async (uid: string): Promise<PodDisk> => {
      const found = await countDisk(this.#pathsOf(uid, limits), short);
      return { uid, used: found && [...found.values()].reduce((sum, one) => sum + one, 0) };
    };
    const candidates = [...limits.keys()].filter((uid) => !this.#excess.has(uid));
    const counted = await Promise.all(
      candidates.map((uid) => this.#limiter.run(this.#namespaceOf(uid), () => count(uid))),
    );
    const chosen = choosePod(counted, short, machine.budget);
    if (chosen !== undefined) this.#reportExcess(chosen.uid, evictionFor(short, chosen));
  }

  #pathsOf(uid: string, limits: Limits): string[] {
    const limited = (limits.get(uid) ?? []).flatMap(({ paths }) => paths);
    return [...new Set([...limited, ...(this.#claims.get(uid) ?? []).map(({ path }) => path)])];
  }

  #namespaceOf(uid: string): string {
    return this.#options.podOf(uid)?.metadata?.namespace ?? "";
  }

  /** Records one event each time a claim becomes overfull. */
  #recordOverfull(): void {
    const { podOf, recordEvent } = this.#options;
    const now = new Set<string>();
    for (const [uid, claims] of this.#claims) {
      const pod = podOf(uid);
      for (const claim of claims) {
        const text = overfull(claim, this.#usage.get(claim.path) ?? 0);
        if (text === undefined || pod === undefined) continue;
        now.add(`${uid}/${claim.name}`);
        if (!this.#overfull.has(`${uid}/${claim.name}`))
          recordEvent(pod, { type: "Warning", reason: "VolumeOverfull", text });
      }
    }
    this.#overfull = now;
  }

  async #limits(): Promise<Map<string, DiskLimit[]>> {
    const { machine, podOf } = this.#options;
    const found = new Map<string, DiskLimit[]>();
    const claims = new Map<string, ClaimedVolume[]>();
    const keptFor = new Map<string, string | undefined>();
    for (const [uid, record] of await machine.records.list()) {
      const pod = podOf(uid);
      if (pod === undefined || record === undefined || !record.prepared || record.released) continue;
      found.set(
        uid,
        diskLimitsOf(pod, { layout: machine.layout, keptFor: record.keptFor }, machine.defaults.diskBytes),
      );
      keptFor.set(uid, record.keptFor);
      claims.set(uid, claimedVolumesOf(record));
    }
    this.#claims = claims;
    this.#keptFor = keptFor;
    return found;
  }
}
