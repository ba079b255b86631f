import { join } from "node:path";
import { type Layout, podPaths } from "../layout.ts";
import { snapshotFile, snapshotsFolder } from "../state/snapshot-store.ts";
import { namesIn } from "../system/folders.ts";
import { readJson } from "../system/json-file.ts";
import { keptFile, keptFolder } from "./kept-rootfs.ts";

/**
 * The ids of images that Pods, snapshots, or root filesystems kept for Sandboxes, use. Read from the disk, so that CLI commands see
 * the same. A Pod's record is written before anything else of the Pod.
 */
export async function imagesInUse(layout: Layout): Promise<ReadonlySet<string>> {
  const pods = (await namesIn(layout.podsDir)).map((uid) => podPaths(layout, uid).record);
  const kept = await namesIn(keptFolder(layout));
  const keptFiles = await Promise.all(
    kept.map(async (value) => {
      const folder = join(keptFolder(layout), value);
      return (await namesIn(folder)).map((container) => join(folder, container, keptFile));
    }),
  );
  const snapshots = (await namesIn(snapshotsFolder(layout))).map((uid) =>
    join(snapshotsFolder(layout), uid, snapshotFile),
  );
  const records = await Promise.all(
    [...pods, ...keptFiles.flat(), ...snapshots].map((path) => readJson(path).catch(() => undefined)),
  );
  return new Set(records.flatMap(namedImages));
}

/** All values of keys named `image` in a record: those of containers, of volumes and of the Pod. */
export function namedImages(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === "image" && typeof member === "string" ? [member] : namedImages(member),
  );
}
