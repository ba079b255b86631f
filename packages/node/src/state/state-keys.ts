import { hkdfSync } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { messageOf, NodeError } from "../errors.ts";
import { StateError } from "./state-error.ts";

/** A master key for saved state. Every sealed file has a key of its own, derived from it. */
export interface StateKey {
  /** A hash of the key, in hexadecimal. Files name their key by it. */
  readonly id: string;
  readonly secret: Uint8Array;
}

const keyBytes = 32;
const mostKeys = 16;
/** Longer than the longest form of a key: 64 hexadecimal digits and a line end. */
const mostFileBytes = 256;

/** The keys of a node. The first one seals new files, all of them open files. */
export class StateKeys {
  readonly #keys: readonly StateKey[];

  constructor(keys: readonly StateKey[]) {
    this.#keys = keys;
  }

  /** Reads key files. Throws, with the file and the problem, if one of them cannot be used. */
  static async read(files: readonly string[]): Promise<StateKeys> {
    if (files.length > mostKeys) {
      throw new NodeError("NodeSetup", `Cannot use ${files.length} state keys: at most ${mostKeys} are allowed`);
    }
    return new StateKeys(await Promise.all(files.map(readStateKey)));
  }

  /** The key for new files, or undefined if they are not sealed. */
  get current(): StateKey | undefined {
    return this.#keys[0];
  }

  /** Throws `KeyUnavailable` if the node does not have the key. */
  named(id: string): StateKey {
    const found = this.#keys.find((key) => key.id === id);
    if (found !== undefined) return found;
    const why = this.#keys.length === 0 ? "this node has no key" : "this node has other keys";
    const message = `Cannot read the image: it is encrypted with the key ${id}, and ${why} (see --state-key-file)`;
    throw new StateError("KeyUnavailable", message);
  }
}

export function stateKeyOf(secret: Uint8Array): StateKey {
  const id = hkdfSync("sha256", secret, "", "agent-sandbox state key id 1", 8);
  return { id: Buffer.from(id).toString("hex"), secret };
}

async function readStateKey(path: string): Promise<StateKey> {
  try {
    return stateKeyOf(parseKey(await readPrivate(path)));
  } catch (error) {
    throw new NodeError("NodeSetup", `Cannot use the state key "${path}": ${messageOf(error)}`, { cause: error });
  }
}

async function readPrivate(path: string): Promise<Buffer> {
  // Without O_NONBLOCK, opening a named pipe waits for a writer.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const { mode, uid, size } = await file.stat();
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error("it is not a regular file");
  if ((mode & 0o077) !== 0) {
    throw new Error(`other users can access it (mode ${(mode & 0o777).toString(8).padStart(4, "0")}); use 0600`);
  }
  if (uid !== process.getuid?.() && uid !== 0) throw new Error(`it belongs to the user ${uid}`);
  if (size > mostFileBytes) throw new Error(`it has ${size} bytes; a key has ${keyBytes}`);
  return await file.readFile();
}

/** Parses 32 bytes: as they are, in hexadecimal or in base64. */
export function parseKey(content: Buffer): Uint8Array {
  const secret = content.length === keyBytes ? content : decode(content.toString("latin1").trim());
  if (secret?.length !== keyBytes) {
    throw new Error(`it must contain ${keyBytes} bytes, as they are, in hexadecimal or in base64`);
  }
  if (secret.every((byte) => byte === secret[0])) throw new Error("it is not random: all bytes are equal");
  return secret;
}

function decode(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  if (/^[A-Za-z0-9+/]{43}=?$/.test(text)) return Buffer.from(text, "base64");
  return /^[A-Za-z0-9_-]{43}=?$/.test(text) ? Buffer.from(text, "base64url") : undefined;
}
