import { describe, expect, test } from "vitest";
import { podResources, resourcesFor } from "./resources.ts";

const defaults = { memoryBytes: 1000, pids: 7, diskBytes: 1 };
const bounds = (swapAccounting: boolean) => ({ swapAccounting, memoryBytes: 2_000_000, pids: 100 });
const devices = [{ allow: false, access: "rwm" }];

describe("resourcesFor()", () => {
  test.for([
    ["a container without limits gets the defaults", {}, false, { memory: { limit: 1000 }, cpu: { shares: 2 } }],
    [
      "limits become a quota and shares",
      { limits: { cpu: "1500m", memory: "1Mi" } },
      false,
      { memory: { limit: 1_048_576 }, cpu: { shares: 1536, quota: 150_000, period: 100_000 } },
    ],
    [
      "requests become shares only",
      { requests: { cpu: "250m", memory: "1Gi" } },
      false,
      { memory: { limit: 1000 }, cpu: { shares: 256 } },
    ],
    [
      "a tiny limit becomes the minimum quota, and swap is disabled where possible",
      { limits: { cpu: "1m" } },
      true,
      { memory: { limit: 1000, swap: 1000 }, cpu: { shares: 2, quota: 1000, period: 100_000 } },
    ],
    [
      "a limit above the budget is reduced to the budget",
      { limits: { memory: "100000Ti" } },
      true,
      { memory: { limit: 2_000_000, swap: 2_000_000 }, cpu: { shares: 2 } },
    ],
    [
      "a limit of 0 becomes the default",
      { limits: { memory: "0" } },
      false,
      { memory: { limit: 1000 }, cpu: { shares: 2 } },
    ],
  ] as const)("%s", ([, resources, swap, expected]) => {
    expect(resourcesFor({ name: "c", resources }, defaults, bounds(swap))).toEqual({
      devices,
      pids: { limit: 7 },
      ...expected,
    });
  });
});

describe("podResources()", () => {
  const container = (memory: string, cpu?: string) => ({
    name: "c",
    resources: { limits: { memory, ...(cpu !== undefined && { cpu }) } },
  });
  test("is the sum of concurrent containers, and at least the largest init container", () => {
    const sidecar = { ...container("10", "1"), restartPolicy: "Always" };
    const spec = {
      initContainers: [sidecar, container("50", "1")],
      containers: [container("20", "1"), container("5", "1")],
    };
    expect(podResources({ spec }, defaults, bounds(true))).toEqual({
      devices,
      memory: { limit: 50, swap: 50 },
      cpu: { shares: 3072, quota: 300_000, period: 100_000 },
      pids: { limit: 21 },
    });
  });

  test("is at most the budget of all sandboxes", () => {
    const spec = { containers: Array.from({ length: 50 }, () => container("1500000")) };
    expect(podResources({ spec }, defaults, bounds(false))).toMatchObject({
      memory: { limit: 2_000_000 },
      pids: { limit: 100 },
    });
  });

  test("has no CPU limit if one container has none", () => {
    const spec = { containers: [container("20", "1"), container("5")] };
    expect(podResources({ spec }, defaults, bounds(false))).toMatchObject({
      memory: { limit: 25 },
      cpu: { shares: 1026 },
    });
    expect(podResources({ spec }, defaults, bounds(false)).cpu).not.toHaveProperty("quota");
  });
});
