import { createWriteStream } from "node:fs";
import { symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf, NodeError } from "../errors.ts";
import { anyone } from "./access.ts";
import { readArchive } from "./archive.ts";
import { withinRoom } from "./disk-room.ts";
import type { StoredImage } from "./image-index.ts";
import type { LoadOptions } from "./image-store.ts";
import { importImage, openStaging, type StoreParts } from "./import-image.ts";
import { canonicalName, parseReference } from "./reference.ts";

/** Adds every image of an archive, which is a file or a stream, to the store. */
export async function loadArchive(
  parts: StoreParts,
  archive: string | Readable,
  { name, signal, onProgress }: LoadOptions = {},
): Promise<StoredImage[]> {
  const shown = typeof archive === "string" ? `"${archive}"` : "the standard input";
  await using staging = await openStaging(parts);
  const path = join(staging.path, "archive");
  // A link, because skopeo cannot read paths that contain a colon.
  if (typeof archive === "string") await symlink(resolve(archive), path);
  // A file, because an archive is read more than once.
  else {
    await withinRoom(staging.path, parts.reserve, (full) =>
      // Ends the stream too, which would otherwise keep a program alive that was interrupted.
      pipeline(archive, createWriteStream(path, { mode: 0o600 }), {
        signal: AbortSignal.any([full, ...(signal ? [signal] : [])]),
      }),
    ).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  }
  const archived = await readArchive(path, shown);
  if (name !== undefined && archived.length > 1) {
    throw new NodeError("ErrImagePull", `Cannot load ${shown} as "${name}": it contains ${archived.length} images`);
  }
  const loaded: StoredImage[] = [];
  for (const { source, names } of archived) {
    const wanted = name === undefined ? names : [name];
    try {
      const request = {
        source: source(path),
        sourceArgs: [],
        names: wanted.map(completeName),
        digests: [],
        access: anyone,
        signal,
        onProgress,
      };
      loaded.push(await importImage(parts, request));
    } catch (error) {
      signal?.throwIfAborted();
      throw new NodeError("ErrImagePull", `Cannot load ${shown}: ${messageOf(error)}`, { cause: error });
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
