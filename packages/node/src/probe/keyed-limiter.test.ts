import { expect, test } from "vitest";
import { KeyedLimiter } from "./keyed-limiter.ts";

test("runs at most the limit at a time, in order, also after failures", async () => {
  const gate = new KeyedLimiter(2, 2);
  const begun: number[] = [];
  const doors = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const all = doors.map((door, index) =>
    gate.run("a", () => {
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

test("limits each key, and always runs the first function of a key", async () => {
  const gate = new KeyedLimiter(4, 2);
  const begun: string[] = [];
  const doors = new Map<string, () => void>();
  const enter = (key: string, name: string): Promise<void> =>
    gate.run(key, async () => {
      begun.push(name);
      await new Promise<void>((leave) => doors.set(name, leave));
    });
  const all = ["a1", "a2", "a3", "b1", "b2", "c1", "c2", "d1"].map((name) => enter(name.charAt(0), name));
  await Promise.resolve();
  expect(begun).toEqual(["a1", "a2", "b1", "b2", "c1", "d1"]);
  doors.get("b1")?.();
  doors.get("a1")?.();
  await Promise.all([all[0], all[3]]);
  expect(begun).not.toContain("a3");
  doors.get("d1")?.();
  await all[7];
  await Promise.resolve();
  expect(begun).toContain("a3");
  for (const name of ["a2", "a3", "b2", "c1"]) doors.get(name)?.();
  await Promise.all(all.slice(0, 6));
  doors.get("c2")?.();
  await all[6];
});
