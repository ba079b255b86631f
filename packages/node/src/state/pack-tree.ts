import { constants, createReadStream, type Stats } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Header, type Pack, pack } from "tar-stream";
import { libc } from "../system/libc.ts";
import { paxOfAttributes } from "./file-attributes.ts";
import { StateError } from "./state-error.ts";

/** The largest number in the ids of a tar header; larger ones are in a header of their own. */
const mostTarId = 0o7777777;
const opaqueMark = "trusted.overlay.opaque";

/**
 * A folder as the archive of an image layer: overlayfs' marks for hidden files become names with the prefix `.wh.`. Extended attributes in the
 * namespace `user.` are kept. Named pipes, sockets and devices are left out and counted by `omit`, and so are files that lose other attributes. Throws if
 * a file cannot be represented. The same folder gives the same bytes.
 */
export async function* packTree(folder: string, omit: () => void = () => undefined): AsyncGenerator<Uint8Array> {
  const archive = pack();
  const links = new Map<string, string>();
  const filling = addFolder({ archive, links, omit }, folder, "").then(
    () => archive.finalize(),
    (error: unknown) => archive.destroy(error as Error),
  );
  try {
    yield* archive as AsyncIterable<Uint8Array>;
  } finally {
    archive.destroy();
    await filling;
  }
}

interface Packing {
  readonly archive: Pack;
  /** The first name of each file that has several. */
  readonly links: Map<string, string>;
  readonly omit: () => void;
}

async function addFolder(packing: Packing, folder: string, inside: string): Promise<void> {
  const found = await lstat(folder);
  const header = withAttributes(packing, folder, headerOf(found));
  await add(packing, { ...header, name: `${inside === "" ? "." : inside}/`, type: "directory" });
  if (libc().hasAttribute(folder, opaqueMark)) await add(packing, { name: join(inside, ".wh..wh..opq"), size: 0 });
  for (const name of (await readdir(folder)).toSorted()) {
    const path = join(folder, name);
    if (name.includes("\u{fffd}")) throw cannot(path, "its name is not valid UTF-8");
    if (name.startsWith(".wh.")) throw cannot(path, "names that begin with .wh. mark hidden files");
    await addEntry(packing, path, join(inside, name));
  }
}

async function addEntry(packing: Packing, path: string, name: string): Promise<void> {
  const found = await lstat(path);
  if (found.isDirectory()) return addFolder(packing, path, name);
  const header = headerOf(found);
  if (found.isSymbolicLink()) return add(packing, { ...header, name, type: "symlink", linkname: await readlink(path) });
  if (found.isCharacterDevice() && found.rdev === 0) {
    const slash = name.lastIndexOf("/") + 1;
    return add(packing, { name: `${name.slice(0, slash)}.wh.${name.slice(slash)}`, size: 0 });
  }
  if (!found.isFile()) return packing.omit();
  const id = `${found.dev}:${found.ino}`;
  const first = packing.links.get(id);
  if (first !== undefined) return add(packing, { ...header, name, type: "link", linkname: first });
  if (found.nlink > 1) packing.links.set(id, name);
  await addFile(packing, path, { ...withAttributes(packing, path, header), name, type: "file", size: found.size });
}

function headerOf({ mode, uid, gid, mtime }: Stats): Partial<Header> {
  const large = { ...(uid > mostTarId && { uid: String(uid) }), ...(gid > mostTarId && { gid: String(gid) }) };
  const ids = { uid: Math.min(uid, mostTarId), gid: Math.min(gid, mostTarId) };
  return { mode: mode & 0o7777, mtime, ...ids, ...(Object.keys(large).length > 0 && { pax: large }) };
}

function withAttributes({ omit }: Packing, path: string, header: Partial<Header>): Partial<Header> {
  const attributes = paxOfAttributes(path, omit);
  return Object.keys(attributes).length === 0
    ? header
    : { ...header, pax: { ...(header.pax as object | undefined), ...attributes } };
}

function add({ archive }: Packing, header: Partial<Header> & { name: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    archive.entry({ mtime: new Date(0), ...header }, (error) => (error ? reject(error) : resolve())).end("");
  });
}

async function addFile({ archive }: Packing, path: string, header: Partial<Header> & { name: string }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const entry = archive.entry(header, (error) => (error ? reject(error) : resolve()));
  // Without a reader, the pipeline fails too, and nobody waits for this any more.
  promise.catch(() => undefined);
  if ((header.size ?? 0) === 0) entry.end("");
  else {
    // The file may be larger by now, and nobody may have replaced it by a link.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW;
    const content = createReadStream(path, {
      flags: flags as never,
      end: (header.size ?? 0) - 1,
      highWaterMark: 2 ** 20,
    });
    await pipeline(content, entry);
  }
  await promise;
}

function cannot(path: string, why: string): StateError {
  return new StateError(
    "SaveFailed",
    `Cannot export the snapshot: "${path.slice(-200)}" cannot be in an archive: ${why}`,
  );
}
