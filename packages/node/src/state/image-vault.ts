import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseImageReference } from "@agent-sandbox/api";
import type { PodRecord } from "../pod/record.ts";
import { syncFile } from "../system/json-file.ts";
import { mountsUnder } from "../system/mounts.ts";
import { checkpointFolder } from "./image-files.ts";
import type { ImageMeta } from "./image-meta.ts";
import type { PlainFolder, PlainMemory } from "./plain-memory.ts";
import { openSealed, sealChunkBytes, sealFile, writeAll } from "./seal-file.ts";
import { imageName, newSealedId, type SealedFiles, type SealedMeta, sealMeta } from "./sealed-meta.ts";
import { StateError } from "./state-error.ts";
import type { StateKey, StateKeys } from "./state-keys.ts";
import { tarTree, untarStream, untarTree } from "./tar-tree.ts";

/** Where a checkpoint is written. Disposing of it removes the plain files. */
export interface CheckpointTarget extends AsyncDisposable {
  /** The folder for the runtime. */
  readonly folder: string;
  /** Adds the content of a volume in memory. Undefined if images are not encrypted. */
  readonly addVolume?: (name: string, path: string) => Promise<void>;
  /** Encrypts what the runtime wrote into the image, and syncs it. Undefined if images are not encrypted. */
  seal(): Promise<SealedFiles | undefined>;
}

/** A checkpoint that the runtime can read, until it is disposed of. */
export interface OpenCheckpoint extends AsyncDisposable {
  readonly folder: string;
  /** Fills the volumes in memory whose content is encrypted. `pathOf` gives their folders. */
  fillVolumes(pathOf: (name: string) => string): Promise<void>;
}

const volumePrefix = "volume.";

interface Opened {
  readonly plain: Promise<string>;
  users: number;
  remove: () => Promise<void>;
  /** Set when the last user has left. */
  removal?: Promise<void>;
}

/**
 * Encrypts images on their way to the disk, and decrypts them for the runtime, which needs plain files. Plain files are in memory only.
 * Without a key it does nothing: images are written and read where they are.
 */
export class ImageVault {
  readonly keys: StateKeys;
  readonly #plain: PlainMemory;
  /** By the names of the folders in memory. Pods that are restored from one image at the same time share one copy. */
  readonly #opened = new Map<string, Opened>();

  constructor(keys: StateKeys, plain: PlainMemory) {
    this.keys = keys;
    this.#plain = plain;
  }

  /** `memory` gives the size and the cgroup of the Pod whose checkpoint is written. */
  async begin(
    image: string,
    memory: () => Promise<{ readonly bytes: number; readonly cgroup: string }>,
  ): Promise<CheckpointTarget> {
    const key = this.keys.current;
    if (key === undefined) {
      const nothing = async (): Promise<undefined> => undefined;
      return { folder: checkpointFolder(image), seal: nothing, [Symbol.asyncDispose]: nothing };
    }
    const { bytes, cgroup } = await memory();
    const plain = await this.#plain.make(`save-${randomUUID()}`, bytes, { writer: cgroup });
    return sealing(plain, image, key);
  }

  /** For files that do not come from a runtime. Undefined if images are not encrypted. */
  sealer(image: string): Sealer | undefined {
    return this.keys.current === undefined ? undefined : sealer(image, this.keys.current);
  }

  /** The plain content of a file of a checkpoint. */
  read(image: string, { sealed }: Pick<ImageMeta, "sealed">, name: string): AsyncIterable<Uint8Array> {
    const path = join(checkpointFolder(image), name);
    if (sealed === undefined) return createReadStream(path, { highWaterMark: sealChunkBytes });
    return openSealed(path, { keys: this.keys, name: `${sealed.id}/${name}` });
  }

  /** Unpacks the content of a volume in memory into a folder. It is authentic only when this returns. */
  async unpackVolume(
    image: string,
    sealed: SealedFiles,
    { name, folder }: { name: string; folder: string },
  ): Promise<void> {
    await untarStream(this.read(image, { sealed }, `${volumePrefix}${name}.tar`), folder);
  }

  /**
   * A folder in memory for the files of an archive with so many bytes, which the caller disposes of. Does not wait for memory,
   * because the caller may hold some already.
   */
  scratch(bytes: number): Promise<PlainFolder> {
    return this.#plain.make(`save-${randomUUID()}`, filesPerArchive * bytes, { waits: false });
  }

  /** What the `meta.json` of an image contains. */
  async metaOf(image: string, meta: ImageMeta): Promise<ImageMeta | SealedMeta> {
    if (meta.sealed === undefined) return meta;
    if (this.keys.current === undefined) throw new StateError("KeyUnavailable", "Cannot write the image without a key");
    return sealMeta(image, meta, this.keys.current);
  }

  /** Decrypts a checkpoint. Throws `KeyUnavailable` or `ImageDamaged` before anything can use it. */
  async open(image: string, { sealed }: Pick<ImageMeta, "sealed">): Promise<OpenCheckpoint> {
    if (sealed === undefined) {
      const nothing = async (): Promise<void> => undefined;
      return { folder: checkpointFolder(image), fillVolumes: nothing, [Symbol.asyncDispose]: nothing };
    }
    const name = plainName(image);
    // The next copy has the same name, so the one before must be gone.
    for (let last = this.#opened.get(name)?.removal; last !== undefined; last = this.#opened.get(name)?.removal)
      await last;
    const opened = this.#opened.get(name) ?? this.#begin(image, name, sealed);
    opened.users += 1;
    const close = async (): Promise<void> => {
      opened.users -= 1;
      if (opened.users > 0) return;
      opened.removal = opened.remove().finally(() => this.#opened.delete(name));
      await opened.removal;
    };
    try {
      const folder = await opened.plain;
      return {
        folder: join(folder, "checkpoint"),
        fillVolumes: (pathOf) => fillVolumes(folder, sealed, pathOf),
        [Symbol.asyncDispose]: close,
      };
    } catch (error) {
      await close();
      throw error;
    }
  }

  /**
   * Removes the plain files that an earlier process left, or that nobody uses. Those of restores that were interrupted stay until
   * they are finished: the runtime may be about to read them.
   */
  async sweep(records: Iterable<PodRecord | undefined>): Promise<void> {
    await this.#plain.restoreLeft();
    const wanted = new Set([...records].flatMap((record) => interruptedImage(record) ?? []));
    for (const name of await this.#plain.unused()) {
      if (!this.#opened.has(name) && !wanted.has(name)) await this.#plain.remove(name);
    }
  }

  #begin(image: string, name: string, sealed: SealedFiles): Opened {
    const opened: Opened = {
      users: 0,
      remove: () => this.#plain.remove(name),
      plain: this.#decrypted(image, name, sealed).then((plain) => {
        opened.remove = async () => plain[Symbol.asyncDispose]();
        return plain.folder;
      }),
    };
    opened.plain.catch(() => undefined);
    this.#opened.set(name, opened);
    return opened;
  }

  async #decrypted(image: string, name: string, sealed: SealedFiles): Promise<PlainFolder> {
    const left = this.#plain.pathOf(name);
    if ((await mountsUnder(left)).length > 0 && (await isComplete(left))) {
      // An interrupted restore of an earlier process: complete, and perhaps in use by the runtime.
      return { folder: left, [Symbol.asyncDispose]: () => this.#plain.remove(name) };
    }
    const plain = await this.#plain.make(name, sumOf(sealed));
    try {
      await decrypt(image, plain.folder, { sealed, keys: this.keys });
      return plain;
    } catch (error) {
      await plain[Symbol.asyncDispose]();
      throw error;
    }
  }
}

/** A file of one byte takes 1 KiB in an archive and 4 KiB in memory. */
const filesPerArchive = 4;

function plainName(image: string): string {
  return imageName(image).replace("/", "_");
}

function interruptedImage(record: PodRecord | undefined): string | undefined {
  if (record?.restore?.step !== "begun") return undefined;
  const reference = parseImageReference(record.restore.image);
  if (reference === undefined) return undefined;
  return reference.type === "snapshot" ? `snapshots_${reference.uid}` : `${record.keptFor ?? ""}_${reference.epoch}`;
}

function sealing(plain: PlainFolder, image: string, key: StateKey): CheckpointTarget {
  const into = sealer(image, key);
  return {
    folder: plain.folder,
    addVolume: (name, path) => into.addVolume(name, path),
    seal: async () => {
      for (const name of await readdir(plain.folder)) {
        await into.addFile(name, createReadStream(join(plain.folder, name), { highWaterMark: sealChunkBytes }));
      }
      await syncFile(checkpointFolder(image));
      await plain[Symbol.asyncDispose]();
      return into.sealed;
    },
    [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose](),
  };
}

/** Encrypts files into an image, and collects what its description says about them. */
export interface Sealer {
  addFile(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  addVolume(name: string, path: string): Promise<void>;
  readonly sealed: SealedFiles;
}

function sealer(image: string, key: StateKey): Sealer {
  const id = newSealedId(image);
  const files: Record<string, number> = {};
  const volumes: Record<string, number> = {};
  const put = (name: string, content: AsyncIterable<Uint8Array>): Promise<number> =>
    sealFile(content, join(checkpointFolder(image), name), { key, name: `${id}/${name}` });
  return {
    addFile: async (name, content) => {
      files[name] = await put(name, content);
    },
    addVolume: async (name, path) => {
      volumes[name] = await put(`${volumePrefix}${name}.tar`, tarTree(path));
    },
    sealed: { id, files, volumes },
  };
}

/** The bytes that an image takes on the disk, without the few bytes per chunk. */
export function sumOf({ files, volumes }: SealedFiles): number {
  return [...Object.values(files), ...Object.values(volumes)].reduce((sum, bytes) => sum + bytes, 0);
}

async function decrypt(
  image: string,
  folder: string,
  { sealed, keys }: { readonly sealed: SealedFiles; readonly keys: StateKeys },
): Promise<void> {
  const partial = join(folder, "partial");
  await mkdir(partial, { mode: 0o700 });
  const archives = Object.entries(sealed.volumes).map(
    ([name, bytes]) => [`${volumePrefix}${name}.tar`, bytes] as const,
  );
  const take = async (name: string, bytes: number, target: string): Promise<void> => {
    await using file = await open(target, "wx", 0o600);
    const from = { keys, name: `${sealed.id}/${name}` };
    for await (const chunk of openSealed(join(checkpointFolder(image), name), from)) await writeAll(file, chunk);
    const { size } = await file.stat();
    if (size !== bytes)
      throw new StateError("ImageDamaged", `Cannot read the image: its file ${name} has another size`);
  };
  for (const [name, bytes] of archives) await take(name, bytes, join(folder, name));
  for (const [name, bytes] of Object.entries(sealed.files)) await take(name, bytes, join(partial, name));
  await rename(partial, join(folder, "checkpoint"));
}

function isComplete(folder: string): Promise<boolean> {
  return stat(join(folder, "checkpoint")).then(
    () => true,
    () => false,
  );
}

async function fillVolumes(folder: string, sealed: SealedFiles, pathOf: (name: string) => string): Promise<void> {
  for (const name of Object.keys(sealed.volumes)) {
    const path = pathOf(name);
    if (!(await mountsUnder(path)).includes(path)) {
      throw new StateError("RestoreFailed", `Cannot restore the image: the volume "${name}" is not in memory`);
    }
    await untarTree(join(folder, `${volumePrefix}${name}.tar`), path);
  }
}
