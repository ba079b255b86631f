import type { Header } from "tar-stream";
import { messageOf } from "../errors.ts";
import { attributeCalls } from "../system/attributes.ts";
import { invalid } from "./archive-format.ts";
import { StateError } from "./state-error.ts";

/**
 * Extended attributes in archives, as bsdtar writes them: a pax record with the encoded name and the value in base64. Only those that
 * programs without privileges can set, which begin with `user.`: all others decide what the kernel does with a file.
 */
const paxPrefix = "LIBARCHIVE.xattr.";
const foreignPrefixes = [paxPrefix, "SCHILY.xattr.", "RHT.", "SCHILY.acl."];

/** Of one file. The kernel allows this much in one value. */
const mostAttributes = 100;
const mostBytes = 64 * 1024;
const longestName = 255;

/** `user.overlay.` belongs to overlayfs in some mounts. */
function isPlain(name: string): boolean {
  return name.startsWith("user.") && name.length > "user.".length && !name.startsWith("user.overlay.");
}

/** Attributes that mean something to the kernel, and are lost in an archive. */
function isLost(name: string): boolean {
  return name === "security.capability" || name.startsWith("system.posix_acl_");
}

/** The pax records for the attributes of a file. Calls `omit` once if the file has any that cannot be in an archive. */
export function paxOfAttributes(path: string, omit: () => void): Readonly<Record<string, string>> {
  const found = attributeCalls().list(path);
  const names = found.filter(isPlain).toSorted();
  const records: Record<string, string> = {};
  let left = mostBytes;
  let isComplete = names.length <= mostAttributes && !found.some((name) => isLost(name) || name.includes("\u{fffd}"));
  for (const name of names.slice(0, mostAttributes)) {
    if (name.includes("\u{fffd}")) continue;
    const value = attributeCalls().read(path, name);
    left -= name.length + value.length;
    if (left >= 0) records[`${paxPrefix}${encodeURIComponent(name)}`] = value.toString("base64");
    else isComplete = false;
  }
  if (!isComplete) omit();
  return records;
}

/**
 * Restores the attributes of the files of one archive. `read` gives the bytes of the archive that were read: a header for all files
 * that follow could name more attributes than the archive has bytes.
 */
export class AttributeSetter {
  readonly #read: () => number;
  #bytes = 0;

  constructor(read: () => number) {
    this.#read = read;
  }

  /** Sets the attributes in the header of an open file or folder. Throws `ArchiveInvalid` for those that `paxOfAttributes` does not write. */
  set(descriptor: number, { pax }: Header): void {
    const records = Object.entries((pax ?? {}) as Readonly<Record<string, string>>).filter(([key]) =>
      foreignPrefixes.some((prefix) => key.startsWith(prefix)),
    );
    if (records.length > mostAttributes) throw invalid("a file has too many extended attributes");
    const attributes = records.map(([key, value]) => parse(key, value));
    const bytes = attributes.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
    this.#bytes += bytes;
    if (bytes > mostBytes || this.#bytes > this.#read()) throw invalid("the extended attributes are too large");
    for (const { name, value } of attributes) setAttribute(descriptor, name, value);
  }
}

function setAttribute(descriptor: number, name: string, value: Buffer): void {
  try {
    attributeCalls().set(descriptor, name, value);
  } catch (error) {
    // Filesystems have different limits. With ext4, the attributes of a file have 4 KiB together.
    const why = `this disk cannot store the extended attributes of a file: ${messageOf(error)}`;
    throw new StateError("SaveFailed", `Cannot import the archive: ${why}`, { cause: error });
  }
}

function parse(key: string, encoded: string): { readonly name: string; readonly value: Buffer } {
  const name = key.startsWith(paxPrefix) ? decoded(key.slice(paxPrefix.length)) : undefined;
  const value = Buffer.from(encoded, "base64");
  const isValid = name !== undefined && isPlain(name) && Buffer.byteLength(name) <= longestName && !name.includes("\0");
  if (isValid && value.toString("base64") === encoded) return { name, value };
  throw invalid(`it has the extended attribute "${key.slice(0, 200)}"`);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
