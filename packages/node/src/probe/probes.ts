import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, Pod } from "@agent-sandbox/api";
import { containerId } from "../layout.ts";
import type { CommandResult, Effects, PodEvent } from "../pod/effects.ts";
import { membersOf } from "../pod/members.ts";
import type { Health } from "../pod/observed.ts";
import { isLive } from "../pod/plan-stop.ts";
import type { ContainerRecord, PodRecord } from "../pod/record.ts";
import { healthOf, probesOf } from "./health.ts";
import { KeyedLimiter } from "./keyed-limiter.ts";
import {
  afterResult,
  initialStates,
  isSettled,
  type Probe,
  type ProbeKind,
  type ProbeState,
  settingsOf,
} from "./probe-state.ts";
import { runProbe } from "./run-probe.ts";

export interface ProbesOptions {
  readonly now: () => number;
  readonly run: (place: ProbePlace, command: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
  readonly dial: Effects["dial"];
  readonly recordEvent: (pod: Pod, event: PodEvent) => void;
  /** Called when the verdict of a probe changes. */
  readonly onChange: (uid: string) => void;
}

export interface ProbePlace {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

type Result = "success" | "failure" | "unknown";

/**
 * Exec probes start a process of the runtime, and too many at once would starve the containers. One namespace gets at most a
 * quarter.
 */
const mostAtOnce = 32;
const mostOfOne = 8;

interface ProbedRun {
  readonly states: Partial<Record<ProbeKind, ProbeState>>;
  readonly stop: AbortController;
  /** Resolves when the startup probe has succeeded and the other probes may begin. */
  readonly started: PromiseWithResolvers<void>;
}

interface Subject {
  readonly pod: Pod;
  readonly container: Container;
  readonly record: PodRecord;
  readonly kept: ContainerRecord;
}

/**
 * Probes the running containers. The states are in memory only. After a restart of the node they begin with the Pod's status
 * if it is about the same run, so that a healthy container stays ready.
 */
export class Probes implements Disposable {
  readonly #options: ProbesOptions;
  readonly #limiter = new KeyedLimiter(mostAtOnce, mostOfOne);
  /** By Pod UID, then by container id. */
  readonly #runs = new Map<string, Map<string, ProbedRun>>();

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /** Starts probing new runs, stops probing ended ones, and returns the health of the running containers with probes. */
  sync(pod: Pod | undefined, record: PodRecord | undefined, uid: string): Record<string, Health> {
    const watched = this.#runs.get(uid) ?? new Map<string, ProbedRun>();
    const subjects = pod === undefined || record === undefined ? [] : subjectsOf(pod, record);
    const current = new Map(subjects.map((subject) => [idOf(subject), subject]));
    for (const [id, { stop }] of watched) {
      if (current.has(id)) continue;
      stop.abort();
      watched.delete(id);
    }
    for (const [id, subject] of current) if (!watched.has(id)) watched.set(id, this.#begin(subject));
    if (watched.size === 0) this.#runs.delete(uid);
    else this.#runs.set(uid, watched);
    return Object.fromEntries(
      [...current].map(([id, { container }]) => [container.name, healthOf(container, watched.get(id)?.states ?? {})]),
    );
  }

  [Symbol.dispose](): void {
    for (const watched of this.#runs.values()) for (const { stop } of watched.values()) stop.abort();
  }

  #begin(subject: Subject): ProbedRun {
    const probes = Object.entries(probesOf(subject.container)) as [ProbeKind, Probe][];
    const states = Object.fromEntries(probes.map(([kind]) => [kind, firstState(kind, subject)]));
    const watched: ProbedRun = { states, stop: new AbortController(), started: Promise.withResolvers() };
    if (probesOf(subject.container).startup === undefined || watched.states.startup?.verdict === "success") {
      watched.started.resolve();
    }
    for (const [kind, probe] of probes) {
      // Rejects only when it is stopped.
      this.#probeUntilStopped(kind, probe, subject, watched).catch(() => undefined);
    }
    return watched;
  }

  async #probeUntilStopped(kind: ProbeKind, probe: Probe, subject: Subject, watched: ProbedRun): Promise<void> {
    const { signal } = watched.stop;
    const settings = settingsOf(probe);
    const age = this.#options.now() - (subject.kept.run?.startedAt ?? 0);
    if (kind !== "startup") await watched.started.promise;
    await sleep(Math.max(0, settings.initialDelayMs - age), undefined, { signal });
    for (;;) {
      const before = watched.states[kind] ?? initialStates[kind];
      if (isSettled(kind, before)) return;
      const result = await this.#probe(kind, probe, subject, signal);
      signal.throwIfAborted();
      const after = result === "unknown" ? before : afterResult(before, result, settings);
      watched.states[kind] = after;
      if (kind === "startup" && after.verdict === "success") watched.started.resolve();
      if (after.verdict !== before.verdict) this.#options.onChange(subject.record.uid);
      await sleep(settings.periodMs, undefined, { signal });
    }
  }

  async #probe(kind: ProbeKind, probe: Probe, subject: Subject, signal: AbortSignal): Promise<Result> {
    const { container, record } = subject;
    const place = { namespace: record.namespace, pod: record.name, container: container.name };
    const run = (command: readonly string[], until: AbortSignal): Promise<CommandResult> =>
      this.#options.run(place, command, until);
    try {
      const dial = (port: number): Promise<Duplex> => this.#options.dial(place, port);
      const failure = await this.#limiter.run(record.namespace, () => {
        const until = AbortSignal.any([signal, AbortSignal.timeout(settingsOf(probe).timeoutMs)]);
        return runProbe(probe, { container, address: record.address, run, dial }, until);
      });
      if (failure !== undefined && !signal.aborted) this.#recordFailure(kind, failure, subject);
      return failure === undefined ? "success" : "failure";
    } catch {
      return "unknown";
    }
  }

  #recordFailure(kind: ProbeKind, failure: string, { pod, container }: Subject): void {
    const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
    const text = `${title} probe failed: ${failure}`;
    this.#options.recordEvent(pod, {
      type: "Warning",
      reason: "Unhealthy",
      action: title,
      text,
      container: container.name,
    });
  }
}

function subjectsOf(pod: Pod, record: PodRecord): Subject[] {
  return membersOf(pod).flatMap(({ container }): Subject[] => {
    const kept = record.containers[container.name];
    if (kept === undefined || !isLive(kept) || !kept.run?.started || kept.stopping !== undefined) return [];
    return Object.keys(probesOf(container)).length === 0 ? [] : [{ pod, container, record, kept }];
  });
}

function idOf({ record, container, kept }: Subject): string {
  return containerId(record.uid, container.name, kept.attempt);
}

/** The state according to the Pod's status, if that is about the same run. */
function firstState(kind: ProbeKind, subject: Subject): ProbeState {
  const { pod, container, kept } = subject;
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  const known = statuses.find(({ containerID }) => containerID === `${kept.runtime}://${idOf(subject)}`);
  const isGood =
    known?.name === container.name && (kind === "startup" ? known.started : kind === "readiness" && known.ready);
  return isGood ? { verdict: "success", last: "success", inARow: 1 } : initialStates[kind];
}
