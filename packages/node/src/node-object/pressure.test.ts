import { expect, test } from "vitest";
import { pressuresOf, type Room, readRoom } from "./pressure.ts";

const plenty: Room = {
  memoryBytes: 2 ** 30,
  diskBytes: 2 ** 35,
  diskTotalBytes: 2 ** 36,
  processes: 200,
  mostProcesses: 32_768,
};

test.for([
  ["nothing", {}, []],
  ["memory", { memoryBytes: 2 ** 20 }, ["MemoryPressure KubeletHasInsufficientMemory"]],
  ["disk", { diskBytes: 2 ** 32 }, ["DiskPressure KubeletHasDiskPressure"]],
  ["processes", { processes: 32_000 }, ["PIDPressure KubeletHasInsufficientPID"]],
] as const)("a machine short of %s", ([, less, expected]) => {
  const all = pressuresOf({ ...plenty, ...less });
  expect(all).toHaveLength(3);
  expect(all.filter(({ status }) => status === "True").map(({ type, reason }) => `${type} ${reason}`)).toEqual(
    expected,
  );
});

test("reads the free resources of this machine", async () => {
  const room = await readRoom("/tmp");
  expect(Object.entries(room).filter(([, value]) => !(value > 0))).toEqual([]);
});
