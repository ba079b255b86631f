import * as fc from "fast-check";
import type { Sandbox } from "../v1beta1/sandbox.ts";

/** Times around the one that tests use as the present, the same instant in other notations, and text that is not a time. */
const anyText = fc.oneof(
  fc.constantFrom(
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T01:00:00+01:00",
    "2099-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "1767225600",
    "soon",
    "",
  ),
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("2100-01-01") }).map((date) => date.toISOString()),
  fc.string(),
);

const optional = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined });

/** A Sandbox in any state that matters to sleep and activity, with anything in the annotation that people can write. */
export const anySandbox: fc.Arbitrary<Sandbox> = fc
  .record({
    activity: optional(anyText),
    judged: optional(anyText),
    reason: optional(fc.constantFrom("Idle", "PodTerminated", "NotSuspended", "RuntimeCannotSave")),
    status: fc.constantFrom("True", "False", "Unknown"),
    operatingMode: optional(fc.constantFrom("Running", "Suspended")),
    fallback: optional(fc.constantFrom("Allow", "Refuse")),
    resumePolicy: optional(fc.constantFrom("OnTraffic", "Manual")),
    suspendAfterSeconds: optional(fc.integer({ min: 10, max: 2 ** 31 - 1 })),
    deleteAfterSeconds: optional(fc.integer({ min: 60, max: 2 ** 31 - 1 })),
    controllerKind: optional(fc.constantFrom("SandboxWarmPool", "SandboxClaim")),
  })
  .map(
    ({ activity, judged, reason, status, operatingMode, fallback, resumePolicy, controllerKind, ...limits }) =>
      withoutUndefined({
        apiVersion: "agents.x-k8s.io/v1beta1",
        kind: "Sandbox",
        metadata: {
          name: "box",
          namespace: "default",
          uid: "u1",
          annotations: { "agents.x-k8s.io/last-activity": activity },
          ownerReferences: controllerKind && [
            {
              apiVersion: "extensions.agents.x-k8s.io/v1beta1",
              kind: controllerKind,
              name: "owner",
              uid: "o1",
              controller: true,
            },
          ],
        },
        spec: {
          podTemplate: { spec: { containers: [] } },
          operatingMode,
          suspendPolicy: { depth: "Memory", fallback },
          resumePolicy,
          idlePolicy: limits,
        },
        status: {
          lastActivityTime: judged,
          conditions: reason && [{ type: "Suspended", status, reason, message: "", lastTransitionTime: "" }],
        },
      }) as Sandbox,
  );

function withoutUndefined(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}
