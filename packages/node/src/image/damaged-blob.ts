import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { messageOf, NodeError } from "../errors.ts";

/**
 * The content of a stored blob is not the one that its digest names, for example because the disk is faulty or a process was
 * killed. The code that throws it has removed the blob, so that the next attempt fetches it again.
 */
export class DamagedBlobError extends NodeError {
  constructor(cause: unknown) {
    super("ErrImagePull", messageOf(cause), { cause });
  }
}

export async function hasDigest(path: string, hex: string): Promise<boolean> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex") === hex;
}
