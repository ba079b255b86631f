import { badRequest } from "../../http/http-error.ts";
import { Files } from "../../runtime/file-calls.ts";
import { RuntimeError } from "../../runtime/rest.ts";
import type { EnvdCall } from "./context.ts";

/** Metadata of files is in extended attributes with this prefix, as in E2B's daemon. */
export const metadataPrefix = "user.e2b.";

const headerPrefix = "x-metadata-";
const maxKeyLength = 246;
const maxBytes = 4096;

export type FileMetadata = Readonly<Record<string, string>>;

/** The metadata in the headers of an upload, with names in lower case. Of a header that is repeated, the first one counts. */
export function readMetadata(headers: Readonly<Record<string, readonly string[] | undefined>>): FileMetadata {
  const pairs = Object.entries(headers).flatMap(([name, [value = ""] = []]) =>
    name.startsWith(headerPrefix) ? [[name.slice(headerPrefix.length), value] as const] : [],
  );
  let bytes = 0;
  for (const [key, value] of pairs) {
    bytes += key.length + value.length;
    const isValid = /^[\x21-\x7e]+$/.test(key) && key.length <= maxKeyLength && /^[\x20-\x7e]*$/.test(value);
    if (!isValid) throw badRequest(`metadata ${JSON.stringify(key.slice(0, 64))} must be printable ASCII`);
  }
  if (bytes > maxBytes) throw badRequest(`metadata can have ${maxBytes} bytes`);
  return Object.fromEntries(pairs);
}

/** A new file has none. A file system without attributes keeps none. */
export async function storeMetadata(
  { context, target, signal }: EnvdCall,
  paths: readonly string[],
  metadata: FileMetadata,
): Promise<void> {
  if (Object.keys(metadata).length === 0) return;
  const files = new Files(context.runtime, target, { signal });
  for (const path of paths) {
    await files.setAttributes(path, metadataPrefix, metadata).catch((error: unknown) => {
      if (!(error instanceof RuntimeError) || error.code !== "FAILED_PRECONDITION") throw error;
    });
  }
}
