import type { Condition, Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { notReady } from "./next-step.ts";

function sandbox(ready: Partial<Condition>, more: Partial<Sandbox["spec"]> = {}, others: Condition[] = []): Sandbox {
  const condition = {
    type: "Ready",
    status: "False",
    reason: "DependenciesNotReady",
    message: "",
    lastTransitionTime: "",
  } as const;
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "a", namespace: "default", generation: 1 },
    spec: { podTemplate: { spec: { containers: [] } }, ...more },
    status: { conditions: [{ ...condition, ...ready }, ...others] },
  };
}

const trouble = (sentence: string): Partial<Condition> => ({ message: `Pod exists with phase: Pending; ${sentence}` });

test.for<[string, Sandbox, object]>([
  [
    "an image that cannot be pulled",
    sandbox(trouble('container "main": cannot pull image "x": not found')),
    { tone: "bad", title: "It cannot start", why: 'container "main": cannot pull image "x": not found', link: "yaml" },
  ],
  [
    "a container that crashes",
    sandbox(trouble('container "main": exited with code 3 (Error) and is restarted')),
    { tone: "bad", link: "logs", step: "Read what the container wrote before it ended." },
  ],
  [
    "too little memory",
    sandbox(trouble('container "main": ran out of memory (OOMKilled, exit code 137) and is restarted')),
    { link: "yaml", step: "Raise its memory limit, then restart it." },
  ],
  [
    "no room on the nodes",
    sandbox(trouble("cannot be scheduled: 0/1 nodes are available")),
    { tone: "busy", link: "yaml" },
  ],
  [
    "a probe that has not succeeded",
    sandbox(trouble('the readiness probe of container "main" has not succeeded')),
    { tone: "busy", link: "logs" },
  ],
  ["a normal start", sandbox({ message: "Pod exists with phase: Pending" }), { tone: "busy", title: "It is starting" }],
  ["a process that failed", sandbox({ reason: "PodFailed", message: "Pod failed" }), { tone: "bad", link: "logs" }],
  [
    "an end",
    sandbox({ reason: "SandboxExpired", message: "Sandbox has expired" }),
    { tone: "neutral", title: "It has ended" },
  ],
  [
    "a suspension by its author",
    sandbox({ reason: "SandboxSuspended" }, { operatingMode: "Suspended" }),
    { tone: "sleep", step: "Resume it to use it again. Traffic does not wake it." },
  ],
  [
    "a suspension that traffic ends",
    sandbox({ reason: "SandboxSuspended" }, { operatingMode: "Suspended", resumePolicy: "OnTraffic" }),
    { tone: "sleep", step: "The next request, command or terminal wakes it. You can also resume it here." },
  ],
])("says what to do about %s", ([, given, expected]) => {
  expect(notReady(given)).toMatchObject(expected);
});

test("says nothing about a sandbox that is ready", () => {
  expect(notReady(sandbox({ status: "True", reason: "DependenciesReady" }))).toBeUndefined();
});
