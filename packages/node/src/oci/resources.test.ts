import { describe, expect, test } from "vitest";
import { resourcesFor } from "./resources.ts";

const defaults = { memoryBytes: 1000, pids: 7 };
const devices = [{ allow: false, access: "rwm" }];

describe("resourcesFor()", () => {
  test.for([
    [
      "a container that names nothing is limited all the same",
      {},
      false,
      { memory: { limit: 1000 }, cpu: { shares: 2 } },
    ],
    [
      "limits become a quota and shares",
      { limits: { cpu: "1500m", memory: "1Mi" } },
      false,
      { memory: { limit: 1_048_576 }, cpu: { shares: 1536, quota: 150_000, period: 100_000 } },
    ],
    [
      "requests give shares only",
      { requests: { cpu: "250m", memory: "1Gi" } },
      false,
      { memory: { limit: 1000 }, cpu: { shares: 256 } },
    ],
    [
      "a tiny quota is what the kernel takes, and there is no swap where it can be limited",
      { limits: { cpu: "1m" } },
      true,
      { memory: { limit: 1000, swap: 1000 }, cpu: { shares: 2, quota: 1000, period: 100_000 } },
    ],
  ] as const)("%s", ([, resources, swap, expected]) => {
    expect(resourcesFor({ name: "c", resources }, defaults, swap)).toEqual({
      devices,
      pids: { limit: 7 },
      ...expected,
    });
  });
});
