import { expect, test } from "vitest";
import { defaultBudget, readMachineSize } from "./budget.ts";

const gibibyte = 2 ** 30;

test.for([
  ["a server", 64, 400, { memoryBytes: 57.6, diskFreeBytes: 4 }],
  ["a laptop", 8, 40, { memoryBytes: 7, diskFreeBytes: 2 }],
  ["a small virtual machine", 1, 10, { memoryBytes: 0.5, diskFreeBytes: 0.5 }],
] as const)("the default budget of %s is below what it has", ([, memory, disk, expected]) => {
  const size = { memoryBytes: memory * gibibyte, pids: 32_768, diskBytes: disk * gibibyte, inodes: 1_000_000 };
  expect(defaultBudget(size)).toEqual({
    memoryBytes: Math.floor(expected.memoryBytes * gibibyte),
    pids: 24_576,
    diskFreeBytes: expected.diskFreeBytes * gibibyte,
    inodesFree: 50_000,
  });
});

test("a filesystem with dynamic inodes needs no free inodes", () => {
  expect(defaultBudget({ memoryBytes: gibibyte, pids: 100, diskBytes: 0, inodes: 0 }).inodesFree).toBe(0);
});

test("reads the memory and process ids of this machine", async () => {
  const { memoryBytes, pids } = await readMachineSize({ diskBytes: 1, inodes: 1 });
  expect(memoryBytes).toBeGreaterThan(gibibyte / 8);
  expect(pids).toBeGreaterThan(100);
});
