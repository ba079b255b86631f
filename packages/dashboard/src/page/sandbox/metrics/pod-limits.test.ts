import { expect, test } from "vitest";
import { podLimits } from "./pod-limits.ts";

const container = (limits?: Record<string, string>) => ({
  name: "main",
  image: "host",
  ...(limits && { resources: { limits } }),
});

test.for([
  ["one container", [container({ cpu: "500m", memory: "256Mi" })], { cpu: 0.5, memory: 256 * 1024 ** 2 }],
  ["two containers", [container({ cpu: "1" }), container({ cpu: "250m" })], { cpu: 1.25, memory: undefined }],
  ["a container without limits", [container({ cpu: "1" }), container()], { cpu: undefined, memory: undefined }],
  ["a limit that is not a quantity", [container({ cpu: "<b>" })], { cpu: undefined, memory: undefined }],
  ["no containers", [], { cpu: undefined, memory: undefined }],
] as const)("the limits of %s", ([, containers, limits]) => {
  expect(podLimits({ containers: [...containers] })).toEqual(limits);
});

test("containers beside the others count, and those that run before them do not", () => {
  const sidecar = { ...container({ cpu: "250m", memory: "64Mi" }), restartPolicy: "Always" as const };
  const spec = { containers: [container({ cpu: "1" })], initContainers: [container({ cpu: "8" }), sidecar] };
  expect(podLimits(spec)).toEqual({ cpu: 1.25, memory: undefined });
});

test("the limit of the Pod itself decides", () => {
  const resources = { limits: { cpu: "2", memory: "not a quantity" } };
  const spec = { containers: [container({ cpu: "8", memory: "1Gi" }), container({ memory: "1Gi" })], resources };
  expect(podLimits(spec)).toEqual({ cpu: 2, memory: 2 * 1024 ** 3 });
});

test("an unknown Pod has no known limits", () => {
  expect(podLimits(undefined)).toEqual({ cpu: undefined, memory: undefined });
});
