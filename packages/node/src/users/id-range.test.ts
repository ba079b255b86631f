import { expect, test } from "vitest";
import { freeRange, idsNamed, idsPerPod, machineId, mappingOf, ranges } from "./id-range.ts";

test("no two Pods share a range, and there is none when all are in use", () => {
  const taken = new Set<number>();
  for (let count = 0; count < ranges; count++) {
    const first = freeRange(taken, () => (count * 0.37) % 1);
    if (first !== undefined) taken.add(first);
  }
  expect(taken.size).toBe(ranges);
  const sorted = [...taken].toSorted((a, b) => a - b);
  expect(sorted.every((first, index) => index === 0 || first - (sorted[index - 1] ?? 0) >= idsPerPod)).toBe(true);
  expect(Math.min(...sorted)).toBeGreaterThan(600_100_000);
  expect(Math.max(...sorted) + idsPerPod).toBeLessThan(2 ** 31);
  expect(freeRange(taken, Math.random)).toBeUndefined();
});

test("ids above the common ones are mapped once if the Pod names them", () => {
  const pod = {
    spec: {
      securityContext: { runAsUser: 1_000_650_000, fsGroup: 1_000_650_000, supplementalGroups: [100, 70_000] },
      containers: [{ name: "a", securityContext: { runAsGroup: 1000, runAsUser: 65_536 } }],
      initContainers: [{ name: "b", securityContext: { runAsUser: 65_535 } }],
    },
  };
  expect(idsNamed(pod)).toEqual([1_000_650_000, 65_536, 70_000]);
  expect(idsNamed({})).toEqual([]);
});

test("a Pod's ids are never mapped to ids that the machine uses", () => {
  const first = freeRange(new Set(), () => 0) ?? 0;
  const more = Array.from({ length: 256 }, (_, index) => 100_000 + index);
  const mapping = mappingOf({ first, more });
  expect(mapping[0]).toEqual({ inside: 0, outside: first, count: 65_536 });
  expect(mapping.every(({ outside, count }) => outside >= first && outside + count <= first + idsPerPod)).toBe(true);
  expect(new Set(mapping.map(({ outside }) => outside)).size).toBe(mapping.length);
});

test.for([
  [0, 700_000_000],
  [65_535, 700_065_535],
  [1_000_650_000, 700_065_537],
  [123_456, 700_000_000],
] as const)("id %i of a Pod is %i of the machine", ([inside, expected]) => {
  expect(machineId({ first: 700_000_000, more: [70_000, 1_000_650_000], runtime: "runc" }, inside)).toBe(expected);
});
