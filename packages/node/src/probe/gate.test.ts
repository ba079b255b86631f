import { expect, test } from "vitest";
import { Gate } from "./gate.ts";

test("lets so many in at a time, in order, whether they fail or not", async () => {
  const gate = new Gate(2);
  const begun: number[] = [];
  const doors = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const all = doors.map((door, index) =>
    gate.run(() => {
      begun.push(index);
      return door.promise;
    }),
  );
  const settled = Promise.allSettled(all);
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  doors[1]?.reject(new Error("failed"));
  await expect(all[1]).rejects.toThrow("failed");
  expect(begun).toEqual([0, 1, 2]);
  for (const door of doors) door.resolve();
  expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(begun).toEqual([0, 1, 2, 3]);
});
