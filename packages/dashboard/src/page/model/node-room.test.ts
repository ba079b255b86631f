import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { requestedBy } from "./node-room.ts";

const pod = (spec: Pod["spec"], phase = "Running"): Pod => ({ spec, status: { phase } });
const container = (requests: Record<string, string> | undefined, limits?: Record<string, string>) => ({
  name: "c",
  resources: { ...(requests && { requests }), ...(limits && { limits }) },
});

test.for([
  ["nothing", [], { pods: 0, cpu: 0, memory: 0 }],
  [
    "requests",
    [pod({ containers: [container({ cpu: "250m", memory: "1Ki" })] })],
    { pods: 1, cpu: 0.25, memory: 1024 },
  ],
  ["limits without requests", [pod({ containers: [container(undefined, { cpu: "2" })] })], { cpu: 2 }],
  [
    "the largest init container, if it is more",
    [pod({ containers: [container({ cpu: "1" })], initContainers: [container({ cpu: "3" })] })],
    { cpu: 3 },
  ],
  [
    "sidecars beside the containers",
    [
      pod({
        containers: [container({ cpu: "1" })],
        initContainers: [{ ...container({ cpu: "1" }), restartPolicy: "Always" }],
      }),
    ],
    { cpu: 2 },
  ],
  ["the overhead of the runtime", [pod({ containers: [], overhead: { memory: "1Mi" } })], { memory: 2 ** 20 }],
  ["no Pods that have ended", [pod({ containers: [container({ cpu: "1" })] }, "Failed")], { pods: 0, cpu: 0 }],
  ["no amounts that are not quantities", [pod({ containers: [container({ cpu: "<b>" })] })], { cpu: 0 }],
] as const)("Pods request %s", ([, pods, expected]) => {
  expect(requestedBy(pods)).toMatchObject(expected);
});
