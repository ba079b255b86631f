import type { Pod } from "@agent-sandbox/api";
import { type Logger, systemScheduler } from "@agent-sandbox/kube";
import type { DiskUsage } from "../metrics/pod-usage.ts";
import { tryCommand } from "../system/run-command.ts";
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
import type { PodNote } from "./effects.ts";
import type { Machine } from "./machine.ts";
import type { Problem } from "./status.ts";

export interface DiskWatchOptions {
  readonly machine: Machine;
  readonly podOf: (uid: string) => Pod | undefined;
  readonly tell: (pod: Pod, note: PodNote) => void;
  /** A Pod was found above a limit. */
  readonly onExcess: (uid: string) => void;
  readonly log: Logger;
}

/** A tree that takes longer to count is not counted; its Pod is caught by what the next look gets to see. */
const countWithinMs = 60_000;

/**
 * Counts what Pods have on the disk, all with one command, and says which have too much. The kernel has no limit on
 * folders that works on every filesystem, so between two looks a Pod may exceed its limit.
 */
export class DiskWatch implements DiskUsage, AsyncDisposable {
  readonly #options: DiskWatchOptions;
  readonly #excess = new Map<string, Problem>();
  /** The volumes of claims by Pod, and those that were told to be too full. */
  #claims: ReadonlyMap<string, readonly ClaimedVolume[]> = new Map();
  #overfull: ReadonlySet<string> = new Set();
  /** The Sandbox whose files a Pod writes to, by the Pod's UID. */
  #keptFor: ReadonlyMap<string, string | undefined> = new Map();
  /** By path, as it was last counted. */
  #usage: ReadonlyMap<string, number> = new Map();
  #looking: Promise<void> = Promise.resolve();
  #timer: Disposable | undefined;
  #stopped = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#schedule();
  }

  excessOf(uid: string): Problem | undefined {
    return this.#excess.get(uid);
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
    await this.#looking;
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
      this.#looking = this.#look()
        .catch((error: unknown) => log.warn({ error }, "disk usage not counted"))
        .then(() => this.#schedule());
    });
  }

  async #look(): Promise<void> {
    const limits = await this.#limits();
    const claimed = [...this.#claims.values()].flat().map(({ path }) => path);
    const paths = new Set([...[...limits.values()].flatMap((list) => list.flatMap((one) => one.paths)), ...claimed]);
    const usage = paths.size === 0 ? new Map<string, number>() : await countBytes([...paths]);
    this.#usage = usage;
    this.#tellOverfull();
    for (const uid of this.#excess.keys()) if (!limits.has(uid)) this.#excess.delete(uid);
    for (const [uid, list] of limits) {
      const verdict = excessOf(list, usage);
      if (verdict === undefined || this.#excess.has(uid)) continue;
      this.#excess.set(uid, verdict);
      this.#options.onExcess(uid);
    }
  }

  /** Once for each time that a claim has become too full. */
  #tellOverfull(): void {
    const { podOf, tell } = this.#options;
    const now = new Set<string>();
    for (const [uid, claims] of this.#claims) {
      const pod = podOf(uid);
      for (const claim of claims) {
        const text = overfull(claim, this.#usage.get(claim.path) ?? 0);
        if (text === undefined || pod === undefined) continue;
        now.add(`${uid}/${claim.name}`);
        if (!this.#overfull.has(`${uid}/${claim.name}`)) tell(pod, { type: "Warning", reason: "VolumeOverfull", text });
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

/** By path; what is not there has nothing. Mounts below a path are not counted. */
async function countBytes(paths: readonly string[]): Promise<Map<string, number>> {
  const args = ["-n", "19", "du", "--summarize", "--one-file-system", "--block-size=1", "--null", "--files0-from=-"];
  const { stdout } = await tryCommand("nice", args, { input: paths.join("\0"), timeoutMs: countWithinMs });
  return new Map(
    stdout.split("\0").flatMap((line): [string, number][] => {
      const tab = line.indexOf("\t");
      return tab < 0 ? [] : [[line.slice(tab + 1), Number(line.slice(0, tab))]];
    }),
  );
}
