import { symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { anyone } from "./access.ts";
import { readArchive } from "./archive.ts";
import type { StoredImage } from "./image-index.ts";
import { importImage, openStaging, type StoreParts } from "./import-image.ts";
import { canonicalName, parseReference } from "./reference.ts";

/** Adds every image of an archive to the store. `name` replaces the names in an archive with one image. */
export async function loadArchive(parts: StoreParts, file: string, name?: string): Promise<StoredImage[]> {
  const archived = await readArchive(file);
  if (name !== undefined && archived.length > 1) {
    throw new NodeError("ErrImagePull", `Cannot load "${file}" as "${name}": it contains ${archived.length} images`);
  }
  await using staging = await openStaging(parts);
  // A link, because skopeo cannot read paths that contain a colon.
  const link = join(staging.path, "archive");
  await symlink(resolve(file), link);
  const loaded: StoredImage[] = [];
  for (const { source, names } of archived) {
    const wanted = name === undefined ? names : [name];
    try {
      const request = {
        source: source(link),
        sourceArgs: [],
        names: wanted.map(completeName),
        digests: [],
        access: anyone,
      };
      loaded.push(await importImage(parts, request));
    } catch (error) {
      throw new NodeError("ErrImagePull", `Cannot load "${file}": ${messageOf(error)}`, { cause: error });
    }
  }
  return loaded;
}

function completeName(text: string): string {
  const parsed = parseReference(text);
  if ("error" in parsed) throw new NodeError("InvalidImageName", parsed.error);
  const { registry, repository, tag = "latest" } = parsed.reference;
  return canonicalName({ registry, repository, tag });
}
