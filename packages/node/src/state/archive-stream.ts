import { createHash } from "node:crypto";
import {
  type ArchiveMember,
  blockBytes,
  invalid,
  type Manifest,
  manifestName,
  memberHeader,
  mostManifestBytes,
  paddingOf,
} from "./archive-format.ts";
import { readManifest } from "./read-manifest.ts";
import { StateError } from "./state-error.ts";

/** A member to be written. Its content is read twice, and must be the same both times. */
export interface MemberSource {
  readonly name: string;
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** Two empty blocks. */
const end = Buffer.alloc(2 * blockBytes);

/** The size and checksum of each member, for the manifest, which comes first in the archive. Throws if there are more bytes. */
export async function measureMembers(
  sources: readonly MemberSource[],
  { mostBytes = Number.MAX_SAFE_INTEGER, signal }: { mostBytes?: number; signal?: AbortSignal | undefined } = {},
): Promise<ArchiveMember[]> {
  const members: ArchiveMember[] = [];
  let left = mostBytes;
  for (const { name, open } of sources) {
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of open()) {
      hash.update(chunk);
      bytes += chunk.length;
      left -= chunk.length;
      signal?.throwIfAborted();
      if (left < 0) throw new StateError("QuotaExceeded", `Cannot export more than ${mostBytes} bytes`);
    }
    members.push({ name, bytes, sha256: hash.digest("hex") });
  }
  return members;
}

/** The archive, piece by piece. Throws if a member is not what the manifest says. */
export async function* writeArchive(manifest: Manifest, sources: readonly MemberSource[]): AsyncGenerator<Uint8Array> {
  const text = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`);
  yield memberHeader(manifestName, text.length);
  yield Buffer.concat([text, paddingOf(text.length)]);
  for (const [index, { name, bytes }] of manifest.members.entries()) {
    yield memberHeader(name, bytes);
    let written = 0;
    for await (const chunk of sources[index]?.open() ?? []) {
      written += chunk.length;
      yield chunk;
    }
    if (written !== bytes) throw new Error(`Cannot export the snapshot: "${name}" has changed meanwhile`);
    yield paddingOf(bytes);
  }
  yield end;
}

export interface ArchiveReceiver {
  /** Called with the manifest, before any member. */
  begin(manifest: Manifest): Promise<void>;
  /** Stores a member. Its content is verified only afterwards: nothing may use it before the whole archive was read. */
  receive(member: ArchiveMember, content: AsyncIterable<Uint8Array>): Promise<void>;
}

/** Reads an archive to its end. Throws `ArchiveInvalid` for everything that `writeArchive` does not write. */
export async function readArchive(source: AsyncIterable<Uint8Array>, receiver: ArchiveReceiver): Promise<Manifest> {
  const input = new Input(source);
  const manifest = readManifest(await manifestText(input));
  await receiver.begin(manifest);
  for (const member of manifest.members) {
    const { name, bytes, sha256 } = member;
    if (!(await input.take(blockBytes)).equals(memberHeader(name, bytes))) {
      throw invalid(`"${name}" is not the next member, or has an unexpected header`);
    }
    const hash = createHash("sha256");
    const content = input.content(bytes, (chunk) => hash.update(chunk));
    await receiver.receive(member, content);
    // The rest, if the receiver did not need all of it.
    for await (const _ of content);
    if (hash.digest("hex") !== sha256) throw invalid(`the checksum of "${name}" is wrong`);
    await input.expect(paddingOf(bytes));
  }
  await input.expect(end);
  if (!(await input.isAtEnd())) throw invalid("it continues after its end");
  return manifest;
}

async function manifestText(input: Input): Promise<string> {
  const header = await input.take(blockBytes);
  const bytes = Number.parseInt(header.toString("latin1", 124, 135), 8);
  const isManifest = bytes > 0 && bytes <= mostManifestBytes && header.equals(memberHeader(manifestName, bytes));
  if (!isManifest) throw invalid("it does not begin with a manifest");
  const text = await input.take(bytes);
  await input.expect(paddingOf(bytes));
  return text.toString("utf8");
}

/** Reads a stream by numbers of bytes. */
class Input {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Exactly so many bytes. They are held in memory. */
  async take(bytes: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.content(bytes)) parts.push(part);
    return Buffer.concat(parts);
  }

  async expect(wanted: Buffer): Promise<void> {
    if (!(await this.take(wanted.length)).equals(wanted)) throw invalid("it has data between its members");
  }

  async *content(bytes: number, see: (chunk: Uint8Array) => unknown = () => undefined): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#fill())) throw invalid("it ends early");
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      see(part);
      yield part;
    }
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#fill());
  }

  async #fill(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#source.next();
      if (done === true) return false;
      this.#rest = value;
      if (value.length > 0) return true;
    }
  }
}
