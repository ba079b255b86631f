/** What happened to a sandbox since its creation, from its conditions, its Pod, its events, its claim and its snapshots. Pure. */
import {
  type CoreEvent,
  findCondition,
  type Pod,
  type Sandbox,
  type SandboxClaim,
  type SandboxSnapshot,
} from "@agent-sandbox/api";
import { eventCount, eventTime } from "../../model/event-time.ts";

export type TimelineTone = "good" | "sleep" | "busy" | "bad" | "neutral" | "accent";

export interface TimelineEntry {
  readonly key: string;
  readonly at: number;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly tone: TimelineTone;
  /** Since the entry before. */
  readonly afterMs?: number | undefined;
  readonly count?: number | undefined;
}

export interface TimelineSources {
  readonly sandbox: Sandbox;
  readonly pod?: Pod | undefined;
  readonly claim?: SandboxClaim | undefined;
  readonly events: readonly CoreEvent[];
  readonly snapshots: readonly SandboxSnapshot[];
}

type Entry = Omit<TimelineEntry, "afterMs"> & { readonly rank: number };

const most = 100;
/** The same moment in two sources: their clocks and their precision differ. */
const sameMs = 2000;

/** Oldest first. Only the newest are returned, and always the creation. */
export function timeline(sources: TimelineSources): readonly TimelineEntry[] {
  const all = [...ofSandbox(sources), ...ofPod(sources.pod), ...ofSnapshots(sources), ...sources.events.map(ofEvent)];
  const sorted = all.filter(({ at }) => at > 0).toSorted(inOrder);
  const kept: Entry[] = [];
  for (const entry of sorted) {
    const isKnown = kept.some((one) => one.title === entry.title && Math.abs(one.at - entry.at) <= sameMs);
    if (!isKnown) kept.push(entry);
  }
  const shown = kept.length > most ? [...kept.slice(0, 1), ...kept.slice(1 - most)] : kept;
  let last: number | undefined;
  return shown.map(({ rank: _rank, ...entry }) => {
    // A time without a fraction of a second may seem to be before the step that it follows.
    const at = Math.max(entry.at, last ?? 0);
    const afterMs = last === undefined ? undefined : at - last;
    last = at;
    return { ...entry, at, ...(afterMs !== undefined && { afterMs }) };
  });
}

/** Many times have whole seconds, so the usual order decides within one. */
function inOrder(a: Entry, b: Entry): number {
  return Math.floor(a.at / 1000) - Math.floor(b.at / 1000) || a.rank - b.rank || a.at - b.at;
}

function entry(at: string | undefined, rank: number, title: string, tone: TimelineTone, detail?: string): Entry {
  return { key: `${title} ${at}`, at: Date.parse(at ?? "") || 0, rank, title, tone, ...(detail && { detail }) };
}

function ofSandbox({ sandbox, claim }: TimelineSources): Entry[] {
  const { metadata, status } = sandbox;
  const entries = [entry(metadata.creationTimestamp, 0, "Created", "accent")];
  if (claim !== undefined) {
    entries.push(entry(claim.metadata.creationTimestamp, 1, "Claimed", "accent", `claim ${claim.metadata.name}`));
  }
  const { suspension, conditions } = status ?? {};
  if (suspension?.time !== undefined) {
    const kept = suspension.depth === undefined ? undefined : `kept: ${suspension.depth}`;
    entries.push(entry(suspension.time, 7, "Suspended", "sleep", kept));
  }
  const restored = findCondition(conditions, "Restored");
  if (restored !== undefined) {
    const isGood = restored.status === "True";
    const title = isGood ? "Woken with its memory" : "Memory not restored";
    entries.push(entry(restored.lastTransitionTime, 8, title, isGood ? "good" : "bad", restored.message));
  }
  const ready = findCondition(conditions, "Ready");
  if (ready?.status === "True") entries.push(entry(ready.lastTransitionTime, 9, "Ready", "good"));
  const finished = findCondition(conditions, "Finished");
  if (finished?.status === "True") {
    const isGood = finished.reason === "PodSucceeded";
    entries.push(entry(finished.lastTransitionTime, 9, "Ended", isGood ? "neutral" : "bad", finished.message));
  }
  if (metadata.deletionTimestamp !== undefined) {
    entries.push(entry(metadata.deletionTimestamp, 10, "Deletion began", "neutral"));
  }
  return entries;
}

function ofPod(pod: Pod | undefined): Entry[] {
  if (pod === undefined) return [];
  const { status, spec } = pod;
  const scheduled = findCondition(status?.conditions, "PodScheduled");
  const entries: Entry[] = [];
  if (scheduled?.status === "True") {
    entries.push(
      entry(String(scheduled.lastTransitionTime), 2, "Scheduled", "neutral", `node ${spec?.nodeName ?? ""}`),
    );
  }
  for (const { name, state, lastState } of status?.containerStatuses ?? []) {
    const end = lastState?.terminated ?? state?.terminated;
    if (end !== undefined) {
      const how = `container ${name}, exit code ${end.exitCode}${end.reason ? `, ${end.reason}` : ""}`;
      entries.push(entry(end.finishedAt, 6, "Container ended", end.exitCode === 0 ? "neutral" : "bad", how));
    }
    if (state?.running !== undefined) {
      entries.push(entry(state.running.startedAt, 5, "Container started", "neutral", name));
    }
  }
  return entries;
}

function ofSnapshots({ sandbox, snapshots }: TimelineSources): Entry[] {
  const own = snapshots.filter(({ status }) => status?.sourceUID === sandbox.metadata.uid);
  return own.map(({ metadata, status }) => {
    const made = entry(status?.createdAt ?? metadata.creationTimestamp, 6, "Snapshot taken", "accent", metadata.name);
    return { ...made, key: metadata.uid ?? made.key };
  });
}

/** Titles of the reasons that the node and the controllers report. Other reasons are shown as they are. */
const titles: Readonly<Record<string, string>> = {
  Scheduled: "Scheduled",
  Pulling: "Pulling image",
  Pulled: "Image ready",
  Created: "Container created",
  Started: "Container started",
  Killing: "Stopping",
  PodNotReady: "Not ready",
};

const ranks: Readonly<Record<string, number>> = { Scheduled: 2, Pulling: 3, Pulled: 3, Created: 4, Started: 5 };

function ofEvent(event: CoreEvent): Entry {
  const { reason = "", message, type, metadata } = event;
  const count = eventCount(event);
  return {
    key: metadata?.uid ?? `${reason} ${eventTime(event)}`,
    at: eventTime(event),
    rank: ranks[reason] ?? 6,
    title: titles[reason] ?? reason,
    detail: message,
    tone: type === "Warning" ? "bad" : "neutral",
    ...(count > 1 && { count }),
  };
}

/** The events of the sandbox and of its Pods. Events name objects; the UID tells a sandbox from an older one of the same name. */
export function eventsOf(sandbox: Sandbox, podName: string, all: readonly CoreEvent[]): readonly CoreEvent[] {
  const { name, uid, creationTimestamp } = sandbox.metadata;
  const since = Date.parse(creationTimestamp ?? "") || 0;
  return all.filter((event) => {
    const { kind, name: of, uid: ofUid } = event.involvedObject;
    if (kind === "Sandbox") return of === name && (ofUid === undefined || ofUid === "" || ofUid === uid);
    return kind === "Pod" && of === podName && eventTime(event) >= since;
  });
}
