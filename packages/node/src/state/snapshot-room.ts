import { type DiskReserve, diskSpace, type Refusal, shortage, withinRoom } from "../image/disk-room.ts";
import { FairLimiter } from "../system/fair-limiter.ts";
import type { PendingSnapshot, SnapshotQuota } from "./snapshot-quota.ts";
import { StateError } from "./state-error.ts";

/** What a snapshot that is being taken or imported is going to use. */
export interface SnapshotNeeds {
  /** Bytes that count in the quota. */
  readonly bytes: number;
  /** Bytes that are still to be written to the disk. */
  readonly diskBytes: number;
  /** Whether the snapshot is written. Older snapshots that it replaces are deleted only then. Default false. */
  readonly isWritten?: boolean;
}

export interface SnapshotRoomOptions {
  readonly quota: SnapshotQuota;
  /** A folder on the disk of the snapshots. */
  readonly folder: string;
  readonly reserve: DiskReserve;
}

/**
 * The room for snapshots on a node. A snapshot that is being taken or imported counts from its admission until `release`, so that
 * several at the same time exceed no limit together.
 */
export class SnapshotRoom {
  readonly #options: SnapshotRoomOptions;
  /** By the key of the admission request. */
  readonly #pending = new Map<string, PendingSnapshot>();
  readonly #admissions = new FairLimiter({ total: 1, perKey: 1 });

  constructor(options: SnapshotRoomOptions) {
    this.#options = options;
  }

  get quota(): SnapshotQuota {
    return this.#options.quota;
  }

  /** Runs one admission at a time. */
  alone<T>(namespace: string, work: () => Promise<T>): Promise<T> {
    return this.#admissions.run(namespace, work);
  }

  /** The snapshots that are being taken or imported now, except one. */
  pending(except: string): readonly PendingSnapshot[] {
    return [...this.#pending].flatMap(([key, one]) => (key === except ? [] : [one]));
  }

  /** Throws `QuotaExceeded` if the disk would have less than its reserve when all pending snapshots are written. */
  async checkDisk(key: string, diskBytes: number): Promise<void> {
    // What is written was watched by `guard`, and what others have written of their bytes is no longer free.
    if (diskBytes === 0) return;
    const { folder, reserve } = this.#options;
    const others = [...this.#pending].reduce((sum, [other, one]) => (other === key ? sum : sum + one.diskBytes), 0);
    const { freeBytes, freeInodes } = await diskSpace(folder);
    const space = { freeBytes: freeBytes - others - diskBytes, freeInodes };
    const short = shortage(space, reserve);
    if (short === "inodes") throw refuse(`${reserve.inodesFree} inodes`);
    if (short === undefined) return;
    const expected = others > 0 ? `, and other snapshots need ${others}` : "";
    const why = `the disk has ${freeBytes} free bytes, of which this node keeps ${reserve.diskFreeBytes}${expected}`;
    throw new StateError("QuotaExceeded", `Cannot store the snapshot: it needs ${diskBytes} bytes, and ${why}`);
  }

  /** Replaces an earlier reservation with this key. */
  reserve(key: string, pending: PendingSnapshot): void {
    this.#pending.set(key, pending);
  }

  /** Called when the snapshot is complete or was abandoned. */
  release(key: string): void {
    this.#pending.delete(key);
  }

  /** Runs work that writes a snapshot, and aborts it with `QuotaExceeded` when only the disk's reserve is left. */
  guard<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { folder, reserve } = this.#options;
    return withinRoom(folder, reserve, work, refuse);
  }
}

const refuse: Refusal = (kept) =>
  new StateError("QuotaExceeded", `Cannot store the snapshot: the disk is full, this node keeps ${kept} free`);
