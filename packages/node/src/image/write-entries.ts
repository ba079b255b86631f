import type { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, type Header } from "tar-stream";
import { type Decorate, LayerWriter } from "./layer-writer.ts";

type Step = Transform | ((chunks: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>);

/**
 * Writes the entries of a tar archive into a folder, with overlayfs whiteouts. The archive is what the last stream yields. Each header
 * is passed to `accept` before its entry is written: it may change the header, and throw to refuse the archive. On failure the folder
 * contains a part of the archive.
 */
export async function writeEntries(
  archive: readonly [Readable, ...Step[]],
  folder: string,
  accept: (header: Header) => Promise<void> | void,
  decorate?: Decorate,
): Promise<void> {
  const entries = extract();
  const feeding = pipeline([...archive, entries]);
  // The loop below reports the error.
  feeding.catch(() => undefined);
  try {
    const writer = new LayerWriter(folder, decorate);
    for await (const entry of entries) {
      await accept(entry.header);
      await writer.write(entry);
    }
    await feeding;
    await writer.end();
  } catch (error) {
    entries.destroy();
    await feeding.catch(() => undefined);
    throw error;
  }
}
