import { mkdir } from "node:fs/promises";
import { isSafeUid, type Layout, podPaths } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, syncFile, writeJson } from "../system/json-file.ts";
import { removeTree } from "../system/remove-tree.ts";
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
  /** What the container left for people to read. */
  readonly message?: string;
  /** A probe or a hook had it killed. */
  readonly unhealthy?: boolean;
  /** It had to make room for itself with another image. */
  readonly replaced?: boolean;
}

/** A process for good: pids come round again, a pid with its start time does not. */
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
  /** Set once its `postStart` hook has been through. */
  readonly hooked?: boolean;
}

/** Why a container was asked to end. */
export type StopCause = "deleted" | "pod over" | "deadline" | "liveness" | "startup" | "post-start" | "changed";

/** A container on its way out; on disk before anything is done about it. */
export interface Stopping {
  readonly since: number;
  readonly graceMs: number;
  readonly because: StopCause;
  /** When its first process was asked to end, after its `preStop` hook. */
  readonly signalledAt?: number;
}

/** A start that did not come about. */
export interface Failure {
  readonly reason: string;
  readonly message: string;
  readonly at: number;
  readonly tries: number;
}

/** What a container has besides its outputs. */
export interface ContainerIo {
  readonly stdin: boolean;
  /** Its input ends with the first who gave it some. */
  readonly stdinOnce: boolean;
  readonly tty: boolean;
}

export interface ContainerRecord {
  /** How often the container has been started again. */
  readonly attempt: number;
  readonly runtime: string;
  /** The image's name, and what it stood for when this attempt was created. */
  readonly reference?: string;
  readonly image?: string;
  /** What asks it to end, when not SIGTERM. */
  readonly stopSignal?: string;
  /** Absent for a container that has nothing but its outputs. */
  readonly io?: ContainerIo;
  /** Absent while this attempt is being created. */
  readonly run?: Run;
  /** Why this attempt could not be started yet. */
  readonly failure?: Failure;
  readonly stopping?: Stopping;
  /** How this attempt ended; `last` is the one before. */
  readonly ended?: Termination;
  readonly last?: Termination;
  readonly backoff?: Backoff;
}

export interface VolumePlace {
  readonly path: string;
  /** Nobody may write to it, whatever a mount says. */
  readonly readOnly?: boolean;
  /** Its files are shown as those of the Pod's own users already. */
  readonly isMapped?: boolean;
  /** The images that must stay while the Pod does. */
  readonly image?: string;
  /** The claim it belongs to, and what that asked for. */
  readonly claim?: { readonly name: string; readonly bytes: number };
}

/** What the node knows of a Pod, on disk before the effects it describes: enough to repair or undo them after a crash. */
export interface PodRecord {
  readonly version: 1;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
  /** The machine's ids that stand for the Pod's users; absent where they are the machine's own. */
  readonly ids?: PodIds;
  readonly startTime: number;
  /**
   * The Sandbox whose kept root filesystem this Pod uses, as the API showed it when the Pod was set up; empty for none.
   * Records of earlier versions do not say.
   */
  readonly keptFor?: string;
  /** Whom commands and readers of logs get when they name no container. */
  readonly defaultContainer?: string;
  /** Set once network and folders are complete. */
  readonly prepared: boolean;
  /** Set when the Pod is over and only its outputs are kept. */
  readonly released?: boolean;
  /** When the whole Pod was asked to end. */
  readonly stoppingSince?: number;
  /** The node itself has ended the Pod, for this reason. */
  readonly verdict?: { readonly reason: string; readonly message: string };
  /** Where the Pod's volumes lie, by name. */
  readonly volumes?: Readonly<Record<string, VolumePlace>>;
  /** Of the objects the volumes were filled from. */
  readonly sourcesVersion?: string;
  /** When something in the volumes, such as a token, has to be made anew. */
  readonly refreshVolumesAt?: number;
  readonly containers: Readonly<Record<string, ContainerRecord>>;
}

export interface PodRecords {
  read(uid: string): Promise<PodRecord | undefined>;
  create(record: PodRecord): Promise<void>;
  /**
   * Waits for the disk with what was created since: a Pod's files outlive the power. Once it runs is soon enough, and does
   * not hold up the start; what later writes describe does not outlive anything.
   */
  keep(uid: string): Promise<void>;
  write(record: PodRecord): Promise<void>;
  /** Removes the Pod's whole folder. */
  remove(uid: string): Promise<void>;
  /** Every Pod with a folder; `undefined` for one whose record is missing or unreadable. */
  list(): Promise<ReadonlyMap<string, PodRecord | undefined>>;
}

/** Nobody else writes them while this process holds the folder, so what it has read or written once it knows. */
export function podRecords(layout: Layout, discard: Discard = removeTree): PodRecords {
  const known = new Map<string, PodRecord>();
  const unkept = new Set<string>();
  const read = async (uid: string): Promise<PodRecord | undefined> => {
    const before = known.get(uid);
    if (before !== undefined) return before;
    const value = (await readJson(podPaths(layout, uid).record)) as PodRecord | undefined;
    if (value?.version !== 1 || value.uid !== uid) return undefined;
    // It may have been written meanwhile.
    if (!known.has(uid)) known.set(uid, value);
    return known.get(uid);
  };
  const write = async (record: PodRecord): Promise<void> => {
    try {
      await writeJson(podPaths(layout, record.uid).record, record);
      known.set(record.uid, record);
    } catch (error) {
      // What it has left is for the next look to find out.
      known.delete(record.uid);
      throw error;
    }
  };
  return {
    read,
    write,
    create: async (record) => {
      await mkdir(podPaths(layout, record.uid).dir, { recursive: true, mode: 0o700 });
      await write(record);
      unkept.add(record.uid);
    },
    keep: async (uid) => {
      if (!unkept.has(uid)) return;
      await syncFile(podPaths(layout, uid).record);
      unkept.delete(uid);
    },
    remove: async (uid) => {
      unkept.delete(uid);
      await discard(podPaths(layout, uid).dir);
      known.delete(uid);
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
