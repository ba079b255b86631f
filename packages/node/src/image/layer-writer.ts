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

/** Entries between two yields to the event loop: about ten milliseconds of work. */
const pauseEvery = 200;
const permissionBits = 0o7777;
const newFile = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;

/** Called with the descriptor of each file and folder of an archive when its content is written. */
export type Decorate = (descriptor: number, header: Header) => void;

/**
 * Writes the entries of one layer into a folder. Nobody else writes to that folder, so a path that was checked stays as it
 * was. No entry is written through a symbolic link. The calls are synchronous, because a layer has tens of thousands of
 * small files and a synchronous call costs a tenth of an asynchronous one.
 */
export class LayerWriter {
  readonly #root: string;
  /** Paths known to be folders, not symbolic links. */
  readonly #folders = new Set<string>([""]);
  readonly #whiteouts = new Set<string>();
  readonly #opaque = new Set<string>();
  readonly #decorate: Decorate | undefined;
  #written = 0;

  constructor(root: string, decorate?: Decorate) {
    this.#root = root;
    this.#decorate = decorate;
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
        if (this.#decorate !== undefined) decorateFolder(path, header, this.#decorate);
        return finish(path, header);
      case "file":
        this.#clear(entry.path);
        return writeFile(path, stream, this.#decorate);
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

  /** Writes the whiteouts last, so that they hide the layers below and not entries of this layer. */
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

  /** Yields to the event loop now and then, because a layer may have a million entries. */
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
    } else if (!found.isDirectory()) throw refused(`invalid entry "${path}": "${folder}" is not a directory`);
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
   * Makes room for an entry that replaces an earlier one with the same path. A folder that is not empty cannot be replaced:
   * no real image needs it, and removing a million files synchronously would block the event loop.
   */
  #clear(path: string): void {
    const found = look(join(this.#root, path));
    if (found === undefined) return;
    if (!found.isDirectory()) return rmSync(join(this.#root, path));
    try {
      rmdirSync(join(this.#root, path));
    } catch (error) {
      if (!hasCode(error, "ENOTEMPTY", "EEXIST")) throw error;
      throw refused(`invalid entry "${path}": it replaces a directory that is not empty`);
    }
    this.#folders.delete(path);
  }

  #link(target: string, path: string): void {
    this.#makeParents(target);
    const found = look(join(this.#root, target));
    if (found === undefined || found.isDirectory()) {
      throw refused(`invalid entry "${path}": its link target "${target}" is not a file of the layer`);
    }
    linkSync(join(this.#root, target), join(this.#root, path));
  }
}

function decorateFolder(path: string, header: Header, decorate: Decorate): void {
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    decorate(folder, header);
  } finally {
    closeSync(folder);
  }
}

async function writeFile(path: string, stream: TarEntry, decorate?: Decorate): Promise<void> {
  const { header } = stream;
  const file = openSync(path, newFile, 0o600);
  try {
    for await (const chunk of stream) writeAll(file, chunk as Buffer);
    decorate?.(file, header);
    const { uid, gid } = ownerOf(header);
    // The owner before the mode, because chown clears the setuid and setgid bits.
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
  // Ids that are too large for the tar header are in the pax header.
  const extended = (pax ?? {}) as Readonly<Record<string, string>>;
  const owner = { uid: Number(extended["uid"] ?? uid ?? 0), gid: Number(extended["gid"] ?? gid ?? 0) };
  for (const id of Object.values(owner)) {
    if (!Number.isInteger(id) || id < 0 || id > mostId)
      throw refused(`invalid entry "${name}": invalid owner id ${id}`);
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
