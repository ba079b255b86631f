import { type Pod, parseTime } from "@agent-sandbox/api";

/** On the Pod of a Sandbox: how many Pods before it failed, one after the other. */
export const restartCountAnnotation = "agents.x-k8s.io/restart-count";

const longestBackoffMs = 300_000;
/** As long as a kubelet takes to forgive a container that crashed. */
const forgivenAfterMs = 600_000;

export interface Recovery {
  /** Counted from when the failure was seen. */
  readonly delayMs: number;
  /** Of the Pod to come. */
  readonly restartCount: number;
}

/**
 * How a failed Pod is replaced; undefined when it is not. Containers that may be restarted do not make a Pod fail: it was
 * evicted, ran out of memory or lost its node. With `restartPolicy: Never`, and past a deadline of its own, it is done.
 */
export function recoveryOf(pod: Pod): Recovery | undefined {
  const { phase, reason } = pod.status ?? {};
  if (phase !== "Failed" || pod.spec?.restartPolicy === "Never" || reason === "DeadlineExceeded") return undefined;
  const count = livedLong(pod) ? 0 : restartCount(pod);
  // 1, 2, 4 s and so on: after five failures in a row at least 32 s lie between two Pods.
  return { delayMs: Math.min(longestBackoffMs, 1_000 * 2 ** count), restartCount: count + 1 };
}

/** What happened to a Pod and its containers, for people. */
export function describeFailure({ status = {} }: Pod): string {
  const ends = (status.containerStatuses ?? []).flatMap(({ name, state }) => {
    const { reason, exitCode } = state?.terminated ?? {};
    return exitCode === undefined || exitCode === 0
      ? []
      : [`container "${name}": ${reason ?? "Error"}, exit code ${exitCode}`];
  });
  return ["Pod failed", status.reason, status.message, ...ends].filter(Boolean).join(": ");
}

function restartCount({ metadata }: Pod): number {
  const written = Number(metadata?.annotations?.[restartCountAnnotation] ?? 0);
  return Number.isInteger(written) && written >= 0 ? Math.min(written, 1_000) : 0;
}

/** Both times are the node's: no clock of ours is involved. */
function livedLong({ status = {} }: Pod): boolean {
  const started = parseTime(status.startTime ?? "");
  if ("error" in started) return false;
  const ends = [
    ...(status.containerStatuses ?? []).map(({ state }) => state?.terminated?.finishedAt),
    ...(status.conditions ?? [])
      .filter(({ type }) => type === "Ready")
      .map(({ lastTransitionTime }) => lastTransitionTime),
  ];
  const lived = ends.flatMap((end) => {
    const time = parseTime(end ?? "");
    return "error" in time ? [] : [time.epochMs - started.epochMs];
  });
  return Math.max(0, ...lived) >= forgivenAfterMs;
}
