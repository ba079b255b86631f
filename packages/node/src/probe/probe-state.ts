import type { Container } from "@agent-sandbox/api";

export type Probe = NonNullable<Container["livenessProbe"]>;
export type ProbeKind = "startup" | "readiness" | "liveness";

/**
 * What a probe has found so far. `verdict` is what counts: it changes only after as many results in a row as its
 * threshold asks for.
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

/** With Kubernetes' defaults. A period is a second at least: that is the unit it is written in. */
export function settingsOf(probe: Probe): ProbeSettings {
  return {
    initialDelayMs: 1000 * (probe.initialDelaySeconds ?? 0),
    periodMs: 1000 * (probe.periodSeconds || 10),
    timeoutMs: 1000 * (probe.timeoutSeconds || 1),
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}

/** Until told otherwise a container lives, is not ready and has not started up. */
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

/** A startup probe ends with its verdict, and a liveness probe that condemns its container has nothing left to ask. */
export function isSettled(kind: ProbeKind, { verdict }: ProbeState): boolean {
  return (kind === "startup" && verdict !== "unknown") || (kind === "liveness" && verdict === "failure");
}
