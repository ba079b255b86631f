import { type Pod, parseTime } from "@agent-sandbox/api";

/** On the Pod of a Sandbox: how many of its predecessors failed in a row. */
export const restartCountAnnotation = "agents.x-k8s.io/restart-count";

const longestBackoffMs = 300_000;
/** After this time the kubelet resets the restart backoff of a container. */
const forgivenAfterMs = 600_000;

export interface Recovery {
  /** From the time when the failure was observed. */
  readonly delayMs: number;
  /** The restart count of the next Pod. */
  readonly restartCount: number;
}

/**
 * How a failed Pod is replaced; undefined: it is not replaced. A Pod whose containers may be restarted fails only if it was
 * evicted, ran out of memory or lost its node. A Pod with `restartPolicy: Never`, or past its `activeDeadlineSeconds`, has
 * finished and is not replaced.
 */
export function recoveryOf(pod: Pod): Recovery | undefined {
  const { phase, reason } = pod.status ?? {};
  if (phase !== "Failed" || pod.spec?.restartPolicy === "Never" || reason === "DeadlineExceeded") return undefined;
  const count = livedLong(pod) ? 0 : restartCount(pod);
  // 1 s, 2 s, 4 s and so on: after five failures in a row the next Pod is created after 32 s.
  return { delayMs: Math.min(longestBackoffMs, 1_000 * 2 ** count), restartCount: count + 1 };
}

/** Describes how a Pod and its containers failed, for the message of a condition. */
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

/** Both times are from the node's clock, so the controller's clock does not matter. */
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
