import { describe, expect, test } from "vitest";
import { podRequests } from "./pod-requests.ts";

const needs = (requests: object, more: object = {}): object => ({ name: "c", resources: { requests }, ...more });
const sidecar = { restartPolicy: "Always" };

describe("podRequests()", () => {
  test.for([
    ["is empty without requests", { containers: [{ name: "c" }] }, {}],
    [
      "adds the containers, in thousandths of a CPU and in bytes",
      { containers: [needs({ cpu: "250m", memory: "1Mi" }), needs({ cpu: 1 })] },
      { cpu: 1250, memory: 1048576 },
    ],
    ["rounds up", { containers: [needs({ cpu: "0.1m", memory: "100m" })] }, { cpu: 1, memory: 1 }],
    [
      "takes the largest init container, if that needs more",
      { containers: [needs({ cpu: "1" })], initContainers: [needs({ cpu: "2" }), needs({ cpu: "3" })] },
      { cpu: 3000 },
    ],
    [
      "adds sidecars to the containers",
      { containers: [needs({ cpu: "1" })], initContainers: [needs({ cpu: "2" }, sidecar)] },
      { cpu: 3000 },
    ],
    [
      "adds earlier sidecars to an init container",
      {
        containers: [needs({ cpu: "1" })],
        initContainers: [needs({ cpu: "1" }, sidecar), needs({ cpu: "4" }), needs({ cpu: "2" }, sidecar)],
      },
      { cpu: 5000 },
    ],
    [
      "prefers the requests of the Pod itself, and adds the overhead",
      {
        containers: [needs({ cpu: "1", "ephemeral-storage": "1k" })],
        resources: { requests: { cpu: "2", "ephemeral-storage": "5k" } },
        overhead: { cpu: "500m" },
      },
      { cpu: 2500, "ephemeral-storage": 1000 },
    ],
    ["ignores values that are no quantity or negative", { containers: [needs({ cpu: "x", memory: "-1" })] }, {}],
    ["has no name of its own for the number of Pods", { containers: [needs({ pods: "100" })] }, {}],
  ] as const)("%s", ([, spec, expected]) => {
    expect(Object.fromEntries(podRequests(spec))).toEqual(expected);
  });
});
