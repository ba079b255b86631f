import { mkdir, rm } from "node:fs/promises";
import { isSafeUid, type Layout, podPaths } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import type { Backoff } from "./backoff.ts";

/** How one run of a container ended. Times are milliseconds since 1970. */
export interface Termination {
  readonly id: string;
  readonly exitCode: number;
  readonly reason: "Completed" | "Error" | "OOMKilled" | "ContainerStatusUnknown";
  readonly startedAt: number;
  readonly finishedAt: number;
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
}

export interface ContainerRecord {
  /** How often the container has been started again. */
  readonly attempt: number;
  readonly runtime: string;
  /** Absent while this attempt is being created. */
  readonly run?: Run;
  /** How this attempt ended; `last` is the one before. */
  readonly ended?: Termination;
  readonly last?: Termination;
  readonly backoff?: Backoff;
}

/** What the node knows of a Pod, on disk before the effects it describes: enough to repair or undo them after a crash. */
export interface PodRecord {
  readonly version: 1;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
  readonly image: string;
  readonly startTime: number;
  /** Set once network and folders are complete. */
  readonly prepared: boolean;
  /** Set when the Pod is over and only its outputs are kept. */
  readonly released?: boolean;
  /** When the containers were asked to end. */
  readonly stoppingSince?: number;
  readonly containers: Readonly<Record<string, ContainerRecord>>;
}

export interface PodRecords {
  read(uid: string): Promise<PodRecord | undefined>;
  /** The first one waits for the disk: a Pod's files outlive the power. Later ones describe processes, which do not. */
  create(record: PodRecord): Promise<void>;
  write(record: PodRecord): Promise<void>;
  /** Removes the Pod's whole folder. */
  remove(uid: string): Promise<void>;
  /** Every Pod with a folder; `undefined` for one whose record is missing or unreadable. */
  list(): Promise<ReadonlyMap<string, PodRecord | undefined>>;
}

export function podRecords(layout: Layout): PodRecords {
  const read = async (uid: string): Promise<PodRecord | undefined> => {
    const value = (await readJson(podPaths(layout, uid).record)) as PodRecord | undefined;
    return value?.version === 1 && value.uid === uid ? value : undefined;
  };
  return {
    read,
    create: async (record) => {
      const paths = podPaths(layout, record.uid);
      await mkdir(paths.dir, { recursive: true, mode: 0o700 });
      await writeJson(paths.record, record, { durable: true });
    },
    write: (record) => writeJson(podPaths(layout, record.uid).record, record),
    remove: (uid) => rm(podPaths(layout, uid).dir, { recursive: true, force: true }),
    list: async () => {
      const found = new Map<string, PodRecord | undefined>();
      for (const uid of await namesIn(layout.podsDir)) {
        if (isSafeUid(uid)) found.set(uid, await read(uid).catch(() => undefined));
      }
      return found;
    },
  };
}
