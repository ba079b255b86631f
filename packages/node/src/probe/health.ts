import type { Container } from "@agent-sandbox/api";
import type { Health } from "../pod/observed.ts";
import { initialStates, type Probe, type ProbeKind, type ProbeState } from "./probe-state.ts";

export type ProbeStates = Readonly<Partial<Record<ProbeKind, ProbeState>>>;

export function probesOf(container: Container): Readonly<Partial<Record<ProbeKind, Probe>>> {
  const { startupProbe, readinessProbe, livenessProbe } = container;
  return {
    ...(startupProbe && { startup: startupProbe }),
    ...(readinessProbe && { readiness: readinessProbe }),
    ...(livenessProbe && { liveness: livenessProbe }),
  };
}

/** Combines the states of a container's probes. */
export function healthOf(container: Container, states: ProbeStates): Health {
  const probes = probesOf(container);
  const verdictOf = (kind: ProbeKind): string =>
    probes[kind] === undefined ? "success" : (states[kind] ?? initialStates[kind]).verdict;
  const started = verdictOf("startup") === "success";
  const failed = (["startup", "liveness"] as const).find((kind) => verdictOf(kind) === "failure");
  const seconds = failed === undefined ? undefined : probes[failed]?.terminationGracePeriodSeconds;
  return {
    started,
    ready: started && verdictOf("readiness") === "success",
    ...(failed !== undefined && {
      failed: { probe: failed, ...(seconds !== undefined && { graceMs: 1000 * seconds }) },
    }),
  };
}
