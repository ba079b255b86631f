import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, Pod } from "@agent-sandbox/api";
import { containerId } from "../layout.ts";
import type { CommandResult, Effects, PodNote } from "../pod/effects.ts";
import { membersOf } from "../pod/members.ts";
import type { Health } from "../pod/observed.ts";
import { isLive } from "../pod/plan-stop.ts";
import type { ContainerRecord, PodRecord } from "../pod/record.ts";
import { Gate } from "./gate.ts";
import { healthOf, probesOf } from "./health.ts";
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
  readonly tell: (pod: Pod, note: PodNote) => void;
  /** A verdict has changed. */
  readonly onChange: (uid: string) => void;
}

export interface ProbePlace {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

type Result = "success" | "failure" | "unknown";

/**
 * A probe by a command costs a process of the runtime; all at once they would take the machine from the containers. One namespace
 * has at most a quarter of the places.
 */
const mostAtOnce = 32;
const mostOfOne = 8;

interface Watched {
  readonly states: Partial<Record<ProbeKind, ProbeState>>;
  readonly stop: AbortController;
  /** Settles when the other probes may begin. */
  readonly started: PromiseWithResolvers<void>;
}

interface Subject {
  readonly pod: Pod;
  readonly container: Container;
  readonly record: PodRecord;
  readonly kept: ContainerRecord;
}

/**
 * Probes the running containers. What it knows is in memory; after a restart of the node it goes on from what the Pod's
 * status says of the same run, so that a healthy container does not look sick for a moment.
 */
export class Probes implements Disposable {
  readonly #options: ProbesOptions;
  readonly #gate = new Gate(mostAtOnce, mostOfOne);
  /** By Pod, then by the id of a run. */
  readonly #watched = new Map<string, Map<string, Watched>>();

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /** The health of a Pod's running containers that have probes. Begins to probe what is new, and stops for the rest. */
  look(pod: Pod | undefined, record: PodRecord | undefined, uid: string): Record<string, Health> {
    const watched = this.#watched.get(uid) ?? new Map<string, Watched>();
    const subjects = pod === undefined || record === undefined ? [] : subjectsOf(pod, record);
    const current = new Map(subjects.map((subject) => [idOf(subject), subject]));
    for (const [id, { stop }] of watched) {
      if (current.has(id)) continue;
      stop.abort();
      watched.delete(id);
    }
    for (const [id, subject] of current) if (!watched.has(id)) watched.set(id, this.#begin(subject));
    if (watched.size === 0) this.#watched.delete(uid);
    else this.#watched.set(uid, watched);
    return Object.fromEntries(
      [...current].map(([id, { container }]) => [container.name, healthOf(container, watched.get(id)?.states ?? {})]),
    );
  }

  [Symbol.dispose](): void {
    for (const watched of this.#watched.values()) for (const { stop } of watched.values()) stop.abort();
  }

  #begin(subject: Subject): Watched {
    const probes = Object.entries(probesOf(subject.container)) as [ProbeKind, Probe][];
    const states = Object.fromEntries(probes.map(([kind]) => [kind, firstState(kind, subject)]));
    const watched: Watched = { states, stop: new AbortController(), started: Promise.withResolvers() };
    if (probesOf(subject.container).startup === undefined || watched.states.startup?.verdict === "success") {
      watched.started.resolve();
    }
    for (const [kind, probe] of probes) {
      // It ends when it is stopped, and then nobody waits for it.
      this.#keepAsking(kind, probe, subject, watched).catch(() => undefined);
    }
    return watched;
  }

  async #keepAsking(kind: ProbeKind, probe: Probe, subject: Subject, watched: Watched): Promise<void> {
    const { signal } = watched.stop;
    const settings = settingsOf(probe);
    const age = this.#options.now() - (subject.kept.run?.startedAt ?? 0);
    if (kind !== "startup") await watched.started.promise;
    await sleep(Math.max(0, settings.initialDelayMs - age), undefined, { signal });
    for (;;) {
      const before = watched.states[kind] ?? initialStates[kind];
      if (isSettled(kind, before)) return;
      const result = await this.#ask(kind, probe, subject, signal);
      signal.throwIfAborted();
      const after = result === "unknown" ? before : afterResult(before, result, settings);
      watched.states[kind] = after;
      if (kind === "startup" && after.verdict === "success") watched.started.resolve();
      if (after.verdict !== before.verdict) this.#options.onChange(subject.record.uid);
      await sleep(settings.periodMs, undefined, { signal });
    }
  }

  async #ask(kind: ProbeKind, probe: Probe, subject: Subject, signal: AbortSignal): Promise<Result> {
    const { container, record } = subject;
    const place = { namespace: record.namespace, pod: record.name, container: container.name };
    const run = (command: readonly string[], until: AbortSignal): Promise<CommandResult> =>
      this.#options.run(place, command, until);
    try {
      const dial = (port: number): Promise<Duplex> => this.#options.dial(place, port);
      const failure = await this.#gate.run(record.namespace, () => {
        const until = AbortSignal.any([signal, AbortSignal.timeout(settingsOf(probe).timeoutMs)]);
        return runProbe(probe, { container, address: record.address, run, dial }, until);
      });
      if (failure !== undefined && !signal.aborted) this.#tellFailure(kind, failure, subject);
      return failure === undefined ? "success" : "failure";
    } catch {
      return "unknown";
    }
  }

  #tellFailure(kind: ProbeKind, failure: string, { pod, container }: Subject): void {
    const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
    const text = `${title} probe failed: ${failure}`;
    this.#options.tell(pod, { type: "Warning", reason: "Unhealthy", action: title, text, container: container.name });
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

/** As the API knows the same run. */
function firstState(kind: ProbeKind, subject: Subject): ProbeState {
  const { pod, container, kept } = subject;
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  const known = statuses.find(({ containerID }) => containerID === `${kept.runtime}://${idOf(subject)}`);
  const isGood =
    known?.name === container.name && (kind === "startup" ? known.started : kind === "readiness" && known.ready);
  return isGood ? { verdict: "success", last: "success", inARow: 1 } : initialStates[kind];
}
