import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  rmdirSync,
  rmSync,
  type Stats,
  symlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Header } from "tar-stream";
import { hasCode, NodeError } from "../errors.ts";
import { readEntry, type TarEntry } from "./layer-entry.ts";
import { hide, hideContent } from "./overlay-marks.ts";

/** Some ten milliseconds of work. */
const pauseEvery = 200;
const permissionBits = 0o7777;
const newFile = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;

/**
 * Writes the entries of one layer into a folder that nobody else writes to, so what was looked at stays as it was. No
 * entry is written through a link. The calls are synchronous: a layer has ten thousands of small files, and a call that
 * returns at once costs a tenth of one that is waited for.
 */
export class LayerWriter {
  readonly #root: string;
  /** Paths known to be real folders. */
  readonly #folders = new Set<string>([""]);
  readonly #whiteouts = new Set<string>();
  readonly #opaque = new Set<string>();
  #written = 0;

  constructor(root: string) {
    this.#root = root;
  }

  async write(stream: TarEntry): Promise<void> {
    await this.#pause();
    const { header } = stream;
    const read = readEntry(header);
    if ("error" in read) throw refused(read.error);
    const { entry } = read;
    if (entry.kind === "whiteout" || entry.kind === "opaque") {
      (entry.kind === "whiteout" ? this.#whiteouts : this.#opaque).add(entry.path);
      stream.resume();
      return;
    }
    this.#makeParents(entry.path);
    const path = join(this.#root, entry.path);
    switch (entry.kind) {
      case "folder":
        this.#makeFolder(entry.path);
        stream.resume();
        return finish(path, header);
      case "file":
        this.#clear(entry.path);
        return writeFile(path, stream);
      case "symlink":
        this.#clear(entry.path);
        symlinkSync(entry.target, path);
        stream.resume();
        return finishLink(path, header);
      case "hardlink":
        this.#clear(entry.path);
        this.#link(entry.target, entry.path);
        stream.resume();
        return;
      default:
        entry satisfies never;
    }
  }

  /** What the layer hides of those below it, but not what it brings itself. */
  async end(): Promise<void> {
    for (const path of this.#opaque) {
      await this.#pause();
      this.#makeParents(path);
      this.#makeFolder(path);
      hideContent(join(this.#root, path));
    }
    for (const path of this.#whiteouts) {
      await this.#pause();
      this.#makeParents(path);
      const found = look(join(this.#root, path));
      if (found === undefined) hide(join(this.#root, path));
      else if (found.isDirectory()) hideContent(join(this.#root, path));
    }
  }

  /** Lets others have their turn now and then: there may be a million. */
  async #pause(): Promise<void> {
    this.#written += 1;
    if (this.#written % pauseEvery === 0) await setImmediate();
  }

  #makeParents(path: string): void {
    const folder = path === "" ? "" : parentOf(path);
    if (this.#folders.has(folder)) return;
    this.#makeParents(folder);
    const found = look(join(this.#root, folder));
    if (found === undefined) {
      mkdirSync(join(this.#root, folder), { mode: 0o755 });
      chmodSync(join(this.#root, folder), 0o755);
    } else if (!found.isDirectory()) throw refused(`the archive has "${path}", but "${folder}" is no folder in it`);
    this.#folders.add(folder);
  }

  #makeFolder(path: string): void {
    if (this.#folders.has(path)) return;
    const found = look(join(this.#root, path));
    if (found?.isDirectory() !== true) {
      if (found !== undefined) rmSync(join(this.#root, path));
      mkdirSync(join(this.#root, path), { mode: 0o755 });
    }
    this.#folders.add(path);
  }

  /**
   * A later entry takes the place of an earlier one of its name. Not that of a folder with something in it: no image needs
   * that, and removing a million files here would hold up everything else.
   */
  #clear(path: string): void {
    const found = look(join(this.#root, path));
    if (found === undefined) return;
    if (!found.isDirectory()) return rmSync(join(this.#root, path));
    try {
      rmdirSync(join(this.#root, path));
    } catch (error) {
      if (!hasCode(error, "ENOTEMPTY", "EEXIST")) throw error;
      throw refused(`the archive has "${path}" in the place of a folder that is not empty`);
    }
    this.#folders.delete(path);
  }

  #link(target: string, path: string): void {
    this.#makeParents(target);
    const found = look(join(this.#root, target));
    if (found === undefined || found.isDirectory()) {
      throw refused(`the archive has "${path}": it links to "${target}", which is no file of its layer`);
    }
    linkSync(join(this.#root, target), join(this.#root, path));
  }
}

async function writeFile(path: string, stream: TarEntry): Promise<void> {
  const { header } = stream;
  const file = openSync(path, newFile, 0o600);
  try {
    for await (const chunk of stream) writeAll(file, chunk as Buffer);
    const { uid, gid } = ownerOf(header);
    // The owner first: changing it takes away the bits that lend the owner's rights.
    fchownSync(file, uid, gid);
    fchmodSync(file, (header.mode ?? 0o644) & permissionBits);
    futimesSync(file, timeOf(header), timeOf(header));
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, chunk: Buffer): void {
  for (let written = 0; written < chunk.length; ) written += writeSync(file, chunk, written);
}

function finish(path: string, header: Header): void {
  finishLink(path, header);
  chmodSync(path, (header.mode ?? 0o755) & permissionBits);
}

function finishLink(path: string, header: Header): void {
  const { uid, gid } = ownerOf(header);
  lchownSync(path, uid, gid);
  lutimesSync(path, timeOf(header), timeOf(header));
}

const mostId = 2 ** 31 - 1;

function ownerOf({ name, uid, gid, pax }: Header): { uid: number; gid: number } {
  // Ids that are too large for the header itself.
  const extended = (pax ?? {}) as Readonly<Record<string, string>>;
  const owner = { uid: Number(extended["uid"] ?? uid ?? 0), gid: Number(extended["gid"] ?? gid ?? 0) };
  for (const id of Object.values(owner)) {
    if (!Number.isInteger(id) || id < 0 || id > mostId) throw refused(`the archive has "${name}": ${id} is no owner`);
  }
  return owner;
}

function timeOf({ mtime }: Header): number {
  const seconds = (mtime?.getTime() ?? 0) / 1000;
  return Number.isFinite(seconds) ? seconds : 0;
}

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function parentOf(path: string): string {
  const parent = dirname(path);
  return parent === "." ? "" : parent;
}

function refused(why: string): NodeError {
  return new NodeError("ErrImagePull", `Cannot unpack a layer: ${why}`);
}
