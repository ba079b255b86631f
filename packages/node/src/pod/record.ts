import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { StateReason } from "@agent-sandbox/api";
import { isSafeUid, type Layout, podPaths } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, syncFile, writeJson } from "../system/json-file.ts";
import { removeTree } from "../system/remove-tree.ts";
import { SpareSpace } from "../system/spare-space.ts";
import type { Discard } from "../system/trash.ts";
import type { PodIds } from "../users/id-range.ts";
import type { Backoff } from "./backoff.ts";

/** How one run of a container ended. Times are milliseconds since 1970. */
export interface Termination {
  readonly id: string;
  readonly exitCode: number;
  readonly reason: "Completed" | "Error" | "OOMKilled" | "ContainerStatusUnknown";
  readonly startedAt: number;
  readonly finishedAt: number;
  /** The termination message. */
  readonly message?: string;
  /** A failed probe or postStart hook ended it. */
  readonly unhealthy?: boolean;
  /** It was stopped because the container's image changed. */
  readonly replaced?: boolean;
}

/** Identifies a process. The kernel reuses pids, but not together with the start time. */
export interface ProcessMark {
  readonly pid: number;
  readonly start: number;
}

export interface Run {
  readonly process: ProcessMark;
  readonly monitor: ProcessMark;
  readonly startedAt: number;
  /** False between creating the container and starting the command in it. */
  readonly started: boolean;
  /** How long the runtime took to create it, in milliseconds. Absent in records of earlier versions. */
  readonly createMs?: number;
  /** Set when its `postStart` hook has succeeded. */
  readonly hooked?: boolean;
}

/** Why a container is stopped. */
export type StopCause = "deleted" | "pod over" | "deadline" | "liveness" | "startup" | "post-start" | "changed";

/** A container that is being stopped. Written before the first step. */
export interface Stopping {
  readonly since: number;
  readonly graceMs: number;
  readonly because: StopCause;
  /** When the stop signal was sent, after the `preStop` hook. */
  readonly signalledAt?: number;
}

/** A start that failed. */
export interface Failure {
  readonly reason: string;
  readonly message: string;
  readonly at: number;
  readonly tries: number;
}

/** The standard input and terminal of a container. */
export interface ContainerIo {
  readonly stdin: boolean;
  /** The input closes when the first attached client disconnects. */
  readonly stdinOnce: boolean;
  readonly tty: boolean;
}

export interface ContainerRecord {
  /** The number of restarts. */
  readonly attempt: number;
  readonly runtime: string;
  /** The image's name, and the image id it resolved to when this attempt was created. */
  readonly reference?: string;
  readonly image?: string;
  /** Default SIGTERM. */
  readonly stopSignal?: string;
  /** Absent for a container without input and terminal. */
  readonly io?: ContainerIo;
  /** Absent while this attempt is being created. */
  readonly run?: Run;
  /** The last failed start of this attempt. */
  readonly failure?: Failure;
  readonly stopping?: Stopping;
  /** How this attempt ended. `last` is the attempt before. */
  readonly ended?: Termination;
  readonly last?: Termination;
  readonly backoff?: Backoff;
}

/**
 * A request to save the Pod's memory. Each step is written before the next begins:
 * - `saving`: the image is being written. After a crash it is written again.
 * - `saved`: the image is complete and synced. Written if the Pod has files that move into the image.
 * - `ended`: so have these files. The processes, which were paused, get SIGKILL when the Pod is reported as saved.
 * - `failed`: no image was written, and the Pod continues.
 */
export type SaveRecord =
  | { readonly step: "saving"; readonly epoch: number }
  | { readonly step: "saved" | "ended"; readonly epoch: number; readonly sizeBytes: number }
  | { readonly step: "failed"; readonly epoch: number; readonly reason: StateReason; readonly message: string };

/**
 * The restore of the Pod from an image:
 * - `wanted`: nothing was done yet. The Pod's link is down until its containers run: the kernel would reset the connections that the
 *   image contains.
 * - `begun`: containers are being restored.
 * - `running`: all of them are.
 * - `failed`: none runs.
 */
export type RestoreRecord =
  | {
      readonly step: "wanted" | "begun" | "running";
      readonly image: string;
      /** The name of the SandboxSnapshot, if the image is one. */
      readonly snapshot?: string;
    }
  | { readonly step: "failed"; readonly image: string; readonly reason: StateReason; readonly message: string };

export interface VolumePlace {
  readonly path: string;
  /** All mounts of it are read-only. */
  readonly readOnly?: boolean;
  /** The owners of its files are already mapped to the Pod's user namespace. */
  readonly isMapped?: boolean;
  /** The id of the image it shows. Images in records are not garbage-collected. */
  readonly image?: string;
  /** Its claim, and the size that the claim requests. */
  readonly claim?: { readonly name: string; readonly bytes: number };
}

/** The node's state of a Pod. Written before the effects it describes, so that they can be repaired or undone after a crash. */
export interface PodRecord {
  readonly version: 1;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
  /** The range of machine ids that the Pod's user namespace maps to; absent for a Pod without one. */
  readonly ids?: PodIds;
  readonly startTime: number;
  /**
   * The UID of the Sandbox whose kept root filesystem this Pod uses, verified when the Pod was set up; "" for none. Absent in
   * records of earlier versions.
   */
  readonly keptFor?: string;
  /** The containers have the folder with the sandbox's identity. */
  readonly identity?: boolean;
  readonly save?: SaveRecord;
  readonly restore?: RestoreRecord;
  /** The container for `exec` and `logs` requests that name none. */
  readonly defaultContainer?: string;
  /** Set when network and volumes are set up. */
  readonly prepared: boolean;
  /** Set when the Pod has ended and its resources, except the logs, are released. */
  readonly released?: boolean;
  /** When the node began to stop the whole Pod. */
  readonly stoppingSince?: number;
  /** Why the node ended the Pod: its deadline, or an eviction. */
  readonly verdict?: { readonly reason: string; readonly message: string };
  /** The Pod's volumes by name. */
  readonly volumes?: Readonly<Record<string, VolumePlace>>;
  /** The version of the objects that the volumes were filled from. */
  readonly sourcesVersion?: string;
  /** When the volumes must be updated, for example because a token expires. */
  readonly refreshVolumesAt?: number;
  readonly containers: Readonly<Record<string, ContainerRecord>>;
}

export interface PodRecords {
  read(uid: string): Promise<PodRecord | undefined>;
  create(record: PodRecord): Promise<void>;
  /**
   * Syncs a new record to the disk, so that it survives a power failure as the Pod's files do. Called after the start, to not
   * delay it. Later versions need no sync: what they describe does not survive a power failure.
   */
  sync(uid: string): Promise<void>;
  write(record: PodRecord): Promise<void>;
  /** Removes the Pod's whole folder. */
  remove(uid: string): Promise<void>;
  /** The UID of a saved Pod with the kept files of a Sandbox. Knows the Pods whose records were read or written. */
  savedFor(sandboxUid: string): string | undefined;
  /** Every Pod with a folder; `undefined` for one whose record is missing or unreadable. */
  list(): Promise<ReadonlyMap<string, PodRecord | undefined>>;
}

/** Caches all records: no other process writes them while this one holds the lock of the data folder. */
export function podRecords(layout: Layout, discard: Discard = removeTree): PodRecords {
  const spare = new SpareSpace(join(layout.dataDir, "spare"));
  const known = new Map<string, PodRecord>();
  const unsynced = new Set<string>();
  const read = async (uid: string): Promise<PodRecord | undefined> => {
    const before = known.get(uid);
    if (before !== undefined) return before;
    const value = (await readJson(podPaths(layout, uid).record)) as PodRecord | undefined;
    if (value?.version !== 1 || value.uid !== uid) return undefined;
    // A write during the read is newer.
    if (!known.has(uid)) known.set(uid, value);
    return known.get(uid);
  };
  const write = async (record: PodRecord): Promise<void> => {
    try {
      await spare.use(() => writeJson(podPaths(layout, record.uid).record, record));
      known.set(record.uid, record);
    } catch (error) {
      // The next read must see what the failed write left on the disk.
      known.delete(record.uid);
      throw error;
    }
  };
  return {
    read,
    write,
    create: async (record) => {
      mkdirSync(podPaths(layout, record.uid).dir, { recursive: true, mode: 0o700 });
      await write(record);
      unsynced.add(record.uid);
    },
    sync: async (uid) => {
      if (!unsynced.has(uid)) return;
      await syncFile(podPaths(layout, uid).record);
      unsynced.delete(uid);
    },
    remove: async (uid) => {
      unsynced.delete(uid);
      await discard(podPaths(layout, uid).dir);
      known.delete(uid);
    },
    savedFor: (sandboxUid) => {
      for (const { uid, keptFor, save } of known.values())
        if (keptFor === sandboxUid && save?.step === "ended") return uid;
      return undefined;
    },
    list: async () => {
      const found = new Map<string, PodRecord | undefined>();
      for (const uid of await namesIn(layout.podsDir)) {
        if (isSafeUid(uid)) found.set(uid, await read(uid).catch(() => undefined));
      }
      return found;
    },
  };
}
