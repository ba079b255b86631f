import type { Container } from "@agent-sandbox/api";

export type Probe = NonNullable<Container["livenessProbe"]>;
export type ProbeKind = "startup" | "readiness" | "liveness";

/**
 * The state of a probe. `verdict` changes only after as many equal results in a row as the threshold requires.
 */
export interface ProbeState {
  readonly verdict: "success" | "failure" | "unknown";
  readonly last?: "success" | "failure";
  readonly inARow: number;
}

export interface ProbeSettings {
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/** Applies Kubernetes' defaults. */
export function settingsOf(probe: Probe): ProbeSettings {
  return {
    initialDelayMs: 1000 * (probe.initialDelaySeconds ?? 0),
    periodMs: 1000 * (probe.periodSeconds || 10),
    timeoutMs: 1000 * (probe.timeoutSeconds || 1),
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}

/** Before the first results a container is alive, not ready and not started. */
export const initialStates: Readonly<Record<ProbeKind, ProbeState>> = {
  startup: { verdict: "unknown", inARow: 0 },
  readiness: { verdict: "failure", inARow: 0 },
  liveness: { verdict: "success", inARow: 0 },
};

export function afterResult(before: ProbeState, result: "success" | "failure", settings: ProbeSettings): ProbeState {
  const inARow = before.last === result ? before.inARow + 1 : 1;
  const threshold = result === "success" ? settings.successThreshold : settings.failureThreshold;
  return { last: result, inARow, verdict: inARow >= threshold ? result : before.verdict };
}

/** Whether the probe is finished: a startup probe after its verdict, a liveness probe after it has failed. */
export function isSettled(kind: ProbeKind, { verdict }: ProbeState): boolean {
  return (kind === "startup" && verdict !== "unknown") || (kind === "liveness" && verdict === "failure");
}
