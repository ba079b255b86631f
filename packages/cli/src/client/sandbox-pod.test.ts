import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import { createClient } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";
import { podOf, podPath, sessionError, whyAsleep } from "./sandbox-pod.ts";

const conditions = (status: string, reason: string) => ({ conditions: [{ type: "Suspended", status, reason }] });
const idle = conditions("True", "Idle");
const sandbox = (spec: object, status: object | undefined): Sandbox =>
  ({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "box", namespace: "default" },
    spec: { podTemplate: { spec: { containers: [] } }, idlePolicy: { suspendAfterSeconds: 60 }, ...spec },
    status,
  }) as Sandbox;

test.for([
  ["by its author", { operatingMode: "Suspended" }, {}, /^resume it with: agent-sandbox resume box$/],
  ["for idleness", {}, idle, /through the router/],
  [
    "until its user wakes it",
    { resumePolicy: "Manual" },
    idle,
    /idle and its resumePolicy is Manual; resume it with: agent-sandbox resume box$/,
  ],
  ["no longer", { operatingMode: "Running" }, conditions("True", "SandboxSuspended"), /^$/],
  ["not at all", {}, conditions("False", "NotSuspended"), /^$/],
  ["not yet", {}, undefined, /^$/],
] as const)("a sandbox is asleep %s", ([, spec, status, expected]) => {
  expect(whyAsleep(sandbox(spec, status)) ?? "").toMatch(expected);
});

test.for([
  [{}, true, "box"],
  [{}, false, 'sandbox "box" is suspended: it was idle'],
  [{ resumePolicy: "Manual" }, true, 'sandbox "box" is suspended: it was idle and its resumePolicy is Manual'],
  [{ operatingMode: "Suspended" }, true, 'sandbox "box" is suspended: resume it with: agent-sandbox resume box'],
  [{ operatingMode: "Suspended", resumePolicy: "OnTraffic" }, true, "box"],
] as const)("the Pod of an idle sandbox with %j, for a command that wakes: %s", async ([spec, wakes, expected]) => {
  const server = new MemoryApiServer({ resources: [sandboxes] });
  const client = createClient(server);
  await client.create(sandboxes, sandbox(spec, idle));
  const found = podOf({ client, namespace: "default" } as Connection, "box", { wakes });
  const outcome = await found.then(({ name }) => name).catch((error: Error) => error.message);
  expect(outcome).toContain(expected);
});

test.for([
  [true, 'pods "box" not found', /asleep, and in a cluster only a request through the router wakes it/],
  [true, 'pods "box" is forbidden', /^pods "box" is forbidden$/],
  [false, 'pods "box" not found', /^pods "box" not found$/],
] as const)("the error of a session, asleep: %s, %s", ([isAsleep, message, expected]) => {
  const error = sessionError(new CommandError(message), { name: "box", isAsleep });
  expect((error as Error).message).toMatch(expected);
});

test("escapes names in paths", () => {
  expect(podPath("a", "b/../c", "log")).toBe("/api/v1/namespaces/a/pods/b%2F..%2Fc/log");
  expect(podPath("a", "b")).toBe("/api/v1/namespaces/a/pods/b");
});
