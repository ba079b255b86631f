/** Reads what can be shown of a file: a text, an image, or why neither. */
import type { FileInfo, Files } from "@agent-sandbox/sdk";
import { formatBytes } from "../../../components/format.ts";
import { readImageSize } from "./image-size.ts";
import { readTextContent, type TextContent } from "./text-content.ts";

/** Of a larger text, the beginning is shown. */
export const mostTextBytes: number = 512 * 1024;
export const mostImageBytes: number = 16 * 1024 ** 2;
/** A browser needs four bytes for each pixel: 200 MB. */
export const mostImagePixels = 50_000_000;

export type Preview =
  | { readonly kind: "text"; readonly info: FileInfo; readonly content: TextContent; readonly isCut: boolean }
  | { readonly kind: "image"; readonly info: FileInfo; readonly image: Blob; readonly size: string }
  | { readonly kind: "none"; readonly info: FileInfo; readonly why: string };

type Source = Pick<Files, "stat" | "readStream">;

export async function readPreview(files: Source, path: string, signal: AbortSignal): Promise<Preview> {
  // The etag is read first. If the file changes before its content is read, saving it is refused, which is safe.
  const info = await files.stat(path, { signal });
  if (info.type !== "file") return { kind: "none", info, why: `It is not a file: ${info.type}` };
  const first = await readFirst(files, path, { most: mostTextBytes, signal });
  const size = readImageSize(first);
  if (size !== undefined) {
    const { width, height, type } = size;
    const shown = `${width} × ${height} pixels`;
    if (info.size > mostImageBytes) {
      return { kind: "none", info, why: `Images are shown up to ${formatBytes(mostImageBytes)}` };
    }
    if (width * height > mostImagePixels) {
      return { kind: "none", info, why: `It has ${shown}: images are shown up to ${mostImagePixels / 1e6} megapixels` };
    }
    const isComplete = info.size <= first.length;
    const bytes = isComplete ? first : await readFirst(files, path, { most: mostImageBytes, signal });
    return { kind: "image", info, image: new Blob([bytes], { type }), size: shown };
  }
  const isCut = info.size > first.length;
  const content = readTextContent(first, isCut);
  if (content === undefined) return { kind: "none", info, why: "It is neither a text in UTF-8 nor an image" };
  return { kind: "text", info, content, isCut };
}

interface ReadOptions {
  readonly most: number;
  readonly signal: AbortSignal;
}

/** The first bytes. A sandbox may send more than it was asked for: that is not kept. */
async function readFirst(files: Source, path: string, { most, signal }: ReadOptions): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of files.readStream(path, { range: { first: 0, last: most - 1 }, signal })) {
    const wanted = chunk.subarray(0, most - size);
    chunks.push(wanted);
    size += wanted.length;
    if (size === most) break;
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
