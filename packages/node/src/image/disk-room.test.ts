import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { checkRoom, shortage, withinRoom } from "./disk-room.ts";

const reserve = { diskFreeBytes: 100, inodesFree: 10 };

test.for([
  [{ freeBytes: 100, freeInodes: 10 }, undefined],
  [{ freeBytes: 99, freeInodes: 10 }, "bytes"],
  [{ freeBytes: 100, freeInodes: 9 }, "inodes"],
  [{ freeBytes: 1000, freeInodes: Number.POSITIVE_INFINITY }, undefined],
] as const)("%j is short of %s", ([space, expected]) => {
  expect(shortage(space, reserve)).toBe(expected);
});

test("no image is stored on a disk with only its reserve left, and the error says why", async () => {
  const all = { diskFreeBytes: Number.MAX_SAFE_INTEGER, inodesFree: 0 };
  await expect(checkRoom(tmpdir(), all)).rejects.toThrow(/keeps \d+ bytes free/);
  await expect(withinRoom(tmpdir(), all, () => Promise.reject(new Error("not begun")))).rejects.toThrow(/disk is full/);
  expect(await withinRoom(tmpdir(), { diskFreeBytes: 0, inodesFree: 0 }, () => Promise.resolve(7))).toBe(7);
});
