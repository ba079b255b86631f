import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { changedSince, syncChanged } from "./sync-changed.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "changed-"));
});
afterEach(() => rm(root, { recursive: true }));

const changed = async (since: number): Promise<string[] | undefined> =>
  (await changedSince(root, since))?.map(String).toSorted();

describe("what has changed in a writable layer", () => {
  test("are files and folders, whatever their own times say", async () => {
    await mkdir(join(root, "old/deep"), { recursive: true });
    await writeFile(join(root, "old/deep/same"), "");
    await writeFile(join(root, "old/deep/written"), "");
    await sleep(20);
    const since = Date.now();
    await sleep(20);
    await writeFile(join(root, "old/deep/written"), "more");
    // A sandbox can set the time of its files, but not the time of that change.
    await utimes(join(root, "old/deep/written"), 1, 1);
    await mkdir(join(root, "new"));
    expect(await changed(since)).toEqual([root, join(root, "new"), join(root, "old/deep/written")]);
    await syncChanged(root, since);
  });

  test("are no links and no special files", async () => {
    await symlink("/etc", join(root, "link"));
    execFileSync("mkfifo", [join(root, "fifo")]);
    expect(await changed(0)).toEqual([root]);
  });

  test("have names of any bytes", async () => {
    const path = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x0a, 0xfe])]);
    await writeFile(path, "");
    expect(await changedSince(root, 0)).toContainEqual(path);
    await syncChanged(root, 0);
  });

  test("can be many", async () => {
    const names = Array.from({ length: 2001 }, (_, index) => join(root, String(index)));
    await Promise.all(names.map((name) => writeFile(name, "")));
    expect(await changedSince(root, 0)).toBeUndefined();
    await syncChanged(root, 0);
    await syncChanged(root, Date.now() + 60_000);
  });

  test("is nothing if there is no folder", async () => {
    expect(await changedSince(join(root, "none"), 0)).toEqual([]);
  });
});
