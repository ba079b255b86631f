import { join } from "node:path";
import { type Layout, podPaths } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson } from "../system/json-file.ts";
import { keptFile, keptFolder } from "./kept-rootfs.ts";

/**
 * The ids of images that Pods, or root filesystems kept for them, are made of. Read from the disk, where a Pod's record
 * is before anything else of it: a command of another process sees the same.
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
  const records = await Promise.all(
    [...pods, ...keptFiles.flat()].map((path) => readJson(path).catch(() => undefined)),
  );
  return new Set(records.flatMap(namedImages));
}

/** Wherever a record names an image: for a container, for a volume, for the whole Pod. */
export function namedImages(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === "image" && typeof member === "string" ? [member] : namedImages(member),
  );
}
