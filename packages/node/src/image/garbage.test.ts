import { describe, expect, test } from "vitest";
import { chooseGarbage, type GarbageCandidate, type GarbageLimits } from "./garbage.ts";

const now = 1_000_000;
const image = (id: string, over: Partial<GarbageCandidate> = {}): GarbageCandidate => ({
  id,
  sizeBytes: 10,
  lastUsedAt: 0,
  inUse: false,
  ...over,
});
const limits: GarbageLimits = { storeBytes: 1000, highPercent: 85, lowPercent: 80, leastAgeMs: 1000 };
const disk = (used: number): { totalBytes: number; freeBytes: number } => ({
  totalBytes: 1000,
  freeBytes: 1000 - used,
});

describe("chooseGarbage()", () => {
  test.for([
    ["nothing while disk usage is at most highPercent", [image("a")], disk(850), limits, []],
    ["images until lowPercent is reached, above highPercent", [image("a"), image("b")], disk(851), limits, ["a", "b"]],
    [
      "the least recently used image first",
      [image("new", { lastUsedAt: 500, sizeBytes: 60 }), image("old", { lastUsedAt: 100, sizeBytes: 60 })],
      disk(851),
      limits,
      ["old"],
    ],
    ["no image in use", [image("a", { inUse: true })], disk(1000), limits, []],
    ["no image that was used a moment ago", [image("a", { lastUsedAt: now - 999 })], disk(1000), limits, []],
    [
      "images above storeBytes, on an empty disk",
      [image("a", { lastUsedAt: 1 }), image("b", { lastUsedAt: 2 }), image("c", { lastUsedAt: 3 })],
      disk(0),
      { ...limits, storeBytes: 15 },
      ["a", "b"],
    ],
  ] as const)("chooses %s", ([, images, use, bounds, expected]) => {
    expect(chooseGarbage(images, use, bounds, now)).toEqual(expected);
  });
});
