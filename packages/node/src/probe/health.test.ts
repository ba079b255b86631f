import type { Container } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { healthOf } from "./health.ts";

const probe = { exec: { command: ["true"] } };
const all: Container = { name: "main", startupProbe: probe, readinessProbe: probe, livenessProbe: probe };
const says = (verdict: "success" | "failure" | "unknown") => ({ verdict, inARow: 1 });

test.for([
  ["a container without probes is started and ready", { name: "main" }, {}, { started: true, ready: true }],
  ["before the first results it is neither", all, {}, { started: false, ready: false }],
  [
    "a container that has not started is not ready",
    all,
    { startup: says("unknown"), readiness: says("success") },
    { started: false, ready: false },
  ],
  [
    "started and not ready",
    all,
    { startup: says("success"), readiness: says("failure") },
    { started: true, ready: false },
  ],
  [
    "all probes succeed",
    all,
    { startup: says("success"), readiness: says("success"), liveness: says("success") },
    { started: true, ready: true },
  ],
  [
    "failed by liveness, with the probe's grace period",
    { ...all, livenessProbe: { ...probe, terminationGracePeriodSeconds: 5 } },
    { startup: says("success"), readiness: says("success"), liveness: says("failure") },
    { started: true, ready: true, failed: { probe: "liveness", graceMs: 5000 } },
  ],
  [
    "failed by startup",
    all,
    { startup: says("failure") },
    { started: false, ready: false, failed: { probe: "startup" } },
  ],
] as const)("%s", ([, container, states, health]) => {
  expect(healthOf(container as Container, states)).toEqual(health);
});
