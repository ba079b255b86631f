import { mkdir } from "node:fs/promises";
import { Readable } from "node:stream";
import type { Header } from "tar-stream";
import { NodeError } from "../errors.ts";
import { writeEntries } from "../image/write-entries.ts";
import { invalid } from "./archive-format.ts";
import { AttributeSetter } from "./file-attributes.ts";
import { StateError } from "./state-error.ts";

/** The headers between two entries, which tar-stream holds in memory: long names. */
const longestHeaders = 2 ** 20;
/** The users of a Pod with a user namespace: ids above belong to nobody in it. */
const ownIds = 65_536;
const setIdBits = 0o6000;

/** The number of files that one archive may still have. */
export class EntryBudget {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  take(): void {
    this.#left -= 1;
    if (this.#left < 0) throw invalid("it has too many files");
  }
}

/**
 * Unpacks an archive of `packTree` into a new folder. Entries are those of image layers: files, folders, links inside the folder and marks
 * for hidden files; everything else throws `ArchiveInvalid`, and so does a name that appears twice.
 */
export async function unpackTree(
  content: AsyncIterable<Uint8Array>,
  folder: string,
  budget: EntryBudget,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let read = 0;
  let nextBy = longestHeaders;
  const metered = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      read += chunk.length;
      if (read > nextBy + chunk.length) throw invalid("a header is too large");
      yield chunk;
    }
  };
  const names = new Set<string>();
  try {
    const accept = (header: Header): void => {
      nextBy = read + (header.size ?? 0) + longestHeaders;
      budget.take();
      checkName(header, names);
      header.mode = safeMode(header);
    };
    const attributes = new AttributeSetter(() => read);
    await writeEntries([Readable.from(metered())], folder, accept, (file, header) => attributes.set(file, header));
  } catch (error) {
    throw refusalOf(error);
  }
}

function checkName({ name }: Header, names: Set<string>): void {
  const plain = name
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");
  if (names.has(plain)) throw invalid(`the file "${plain.slice(0, 200)}" appears twice`);
  names.add(plain);
}

/** A file that runs as its owner keeps that only for users of the sandbox. */
function safeMode({ mode, uid, gid, pax }: Header): number {
  const extended = (pax ?? {}) as Readonly<Record<string, string>>;
  const ids = [Number(extended["uid"] ?? uid), Number(extended["gid"] ?? gid)];
  return ids.every((id) => id < ownIds) ? mode : mode & ~setIdBits;
}

/** Errors of the disk are not errors of the archive. */
function refusalOf(error: unknown): unknown {
  if (error instanceof StateError) return error;
  if (error instanceof NodeError) return invalid(error.message.replace(/^Cannot unpack a layer: /, ""), error);
  const { code } = error as { code?: string };
  return code === undefined ? invalid((error as Error).message, error) : error;
}
