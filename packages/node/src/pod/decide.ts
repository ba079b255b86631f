import type { Pod, PodStatus } from "@agent-sandbox/api";
import { containerId } from "../layout.ts";
import { nextBackoff } from "./backoff.ts";
import type { ContainerRecord, PodRecord, Termination } from "./record.ts";
import { restarts } from "./restart-policy.ts";
import { type Problem, podStatus } from "./status.ts";
import { unsupportedField } from "./supported.ts";

/** How the current run of a container stands on the machine. */
export interface Life {
  readonly alive: boolean;
  /** Absent while it lives, and when its monitor died before it could write down the end. */
  readonly exit?: { readonly code: number; readonly finishedAt: number; readonly outOfMemory: boolean };
}

/** What the node knows when it looks at one Pod. Plain data: no client, no clock. */
export interface Observed {
  /** As the API has it; undefined once it is gone from there. */
  readonly pod: Pod | undefined;
  readonly record: PodRecord | undefined;
  readonly hostAddress: string;
  /** What `runtimeClassName` may name. */
  readonly runtimes: readonly string[];
  /** By container, for those whose record has a run. */
  readonly lives: Readonly<Record<string, Life>>;
}

/** Each action can be carried out on its own and repeated safely. */
export type Action =
  | { readonly do: "set-up" }
  | { readonly do: "start-container"; readonly container: string; readonly attempt: number }
  | { readonly do: "record-exit"; readonly container: string; readonly record: ContainerRecord }
  | { readonly do: "signal"; readonly container: string; readonly signal: "SIGTERM" | "SIGKILL" }
  | { readonly do: "release" }
  | { readonly do: "tear-down" }
  | { readonly do: "delete-from-api" };

export interface Decision {
  readonly actions: readonly Action[];
  /** What to report when there is nothing left to do; undefined when the API is not to be told anything. */
  readonly status?: PodStatus;
  /** Set when the Pod cannot run as it is written. */
  readonly problem?: Problem;
  /** When to look again even if nothing changes. */
  readonly wakeAt?: number;
}

const defaultGraceSeconds = 30;
/** The exit code of a process that was killed: the best guess about one whose end nobody saw. */
const unknownExitCode = 137;

export function decide(seen: Observed, now: number): Decision {
  const { pod, record } = seen;
  if (pod === undefined) return { actions: record === undefined ? [] : [{ do: "tear-down" }] };
  const exits = recordExits(seen, now);
  if (exits.length > 0) return { actions: exits };
  if (pod.metadata?.deletionTimestamp !== undefined) return decideDeletion(pod, seen, now);
  if (isOver(pod.status?.phase)) return { actions: record === undefined || record.released ? [] : [{ do: "release" }] };

  const problem = unsupportedField(pod, seen.runtimes);
  if (problem !== undefined) return { actions: [], problem, status: podStatus({ ...seen, pod, problem }, now) };
  if (record === undefined || !record.prepared) return { actions: [{ do: "set-up" }] };
  return decideContainers(pod, record, seen.hostAddress, now);
}

function recordExits({ record, lives }: Observed, now: number): Action[] {
  return Object.entries(record?.containers ?? {}).flatMap(([container, kept]): Action[] => {
    const life = lives[container];
    if (record === undefined || kept.run === undefined || kept.ended !== undefined || life === undefined || life.alive)
      return [];
    const ended = terminationOf(containerId(record.uid, container, kept.attempt), kept.run.startedAt, life, now);
    return [
      {
        do: "record-exit",
        container,
        record: { ...kept, ended, backoff: nextBackoff(kept.backoff, ended.finishedAt) },
      },
    ];
  });
}

function terminationOf(id: string, startedAt: number, { exit }: Life, now: number): Termination {
  if (exit === undefined)
    return { id, startedAt, finishedAt: now, exitCode: unknownExitCode, reason: "ContainerStatusUnknown" };
  const reason = exit.code === 0 ? "Completed" : exit.outOfMemory ? "OOMKilled" : "Error";
  return { id, startedAt, finishedAt: exit.finishedAt, exitCode: exit.code, reason };
}

function decideDeletion(pod: Pod, { record }: Observed, now: number): Decision {
  if (record === undefined) return { actions: [{ do: "delete-from-api" }] };
  const running = Object.entries(record.containers).filter(
    ([, kept]) => kept.run !== undefined && kept.ended === undefined,
  );
  if (running.length === 0) return { actions: [{ do: "tear-down" }] };
  const graceMs =
    1000 * (pod.metadata?.deletionGracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds);
  if (record.stoppingSince === undefined && graceMs > 0) {
    return { actions: running.map(([container]) => ({ do: "signal", container, signal: "SIGTERM" })) };
  }
  const deadline = (record.stoppingSince ?? now) + graceMs;
  if (now < deadline) return { actions: [], wakeAt: deadline };
  return { actions: running.map(([container]) => ({ do: "signal", container, signal: "SIGKILL" })) };
}

function decideContainers(pod: Pod, record: PodRecord, hostAddress: string, now: number): Decision {
  const actions: Action[] = [];
  const wakes: number[] = [];
  for (const { name } of pod.spec?.containers ?? []) {
    const kept = record.containers[name];
    if (kept === undefined) actions.push({ do: "start-container", container: name, attempt: 0 });
    else if (kept.run === undefined || !kept.run.started) {
      actions.push({ do: "start-container", container: name, attempt: kept.attempt });
    } else if (kept.ended !== undefined && restarts(pod, kept.ended)) {
      const startAt = kept.ended.finishedAt + (kept.backoff?.delayMs ?? 0);
      if (now >= startAt) actions.push({ do: "start-container", container: name, attempt: kept.attempt + 1 });
      else wakes.push(startAt);
    }
  }
  if (actions.length > 0) return { actions };
  const status = podStatus({ pod, record, hostAddress }, now);
  return { actions, status, ...(wakes.length > 0 && { wakeAt: Math.min(...wakes) }) };
}

function isOver(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}
