/** How files are sent and received. */
import type { FileEntry, Files, Sandbox as RunningSandbox } from "@agent-sandbox/sdk";
import { formatBytes } from "../../../components/format.ts";
import { joinPath } from "../folder/file-path.ts";
import { saveFile } from "../save-file.ts";
import type { DroppedFile } from "./dropped-files.ts";
import { type Place, putFile } from "./put-file.ts";
import { FileExists, type Job, type Run } from "./transfers.ts";

/** The browser holds a download until it is complete. */
export const mostDownloadBytes: number = 2 * 1024 ** 3;
/** What is received is handed to the browser in blobs of this size, which it may write to disk. */
const blobBytes = 8 * 1024 ** 2;

type Connect = () => Promise<Pick<RunningSandbox, "files">>;

interface UploadOptions {
  readonly place: Place;
  readonly folder: string;
  /** Whether the list shows an entry with this name. */
  readonly isListed: (name: string) => boolean;
  readonly onDone: () => void;
}

export function uploadJob({ file, path }: DroppedFile, { place, folder, isListed, onDone }: UploadOptions): Job {
  const target = joinPath(folder, path);
  const run = async ({ signal, replaces, onProgress }: Run): Promise<void> => {
    // The server refuses it too, but only after it was sent.
    if (!replaces && isListed(path)) throw new FileExists("There is a file with this name");
    await putFile(place, target, file, { signal, onProgress, ...(!replaces && { only: "new" }) });
    onDone();
  };
  return { kind: "upload", name: path, size: file.size, run };
}

export function downloadJob({ name, size, type }: FileEntry, folder: string, connect: Connect): Job {
  const path = joinPath(folder, name);
  const isFolder = type === "directory";
  const savedName = isFolder ? `${name}.tar.gz` : name;
  const run = async ({ signal, onProgress }: Run): Promise<void> => {
    const { files } = await connect();
    const content = isFolder ? files.readArchive(path, { gzip: true, signal }) : files.readStream(path, { signal });
    saveFile(await collect(content, onProgress), savedName);
  };
  return { kind: "download", name: savedName, size: isFolder ? undefined : size, run };
}

async function collect(content: ReturnType<Files["readStream"]>, onProgress: (bytes: number) => void): Promise<Blob> {
  const blobs: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let [held, all] = [0, 0];
  for await (const chunk of content) {
    chunks.push(chunk as Uint8Array<ArrayBuffer>);
    held += chunk.length;
    all += chunk.length;
    onProgress(all);
    if (all > mostDownloadBytes) {
      throw new Error(`It is larger than ${formatBytes(mostDownloadBytes)}: use agent-sandbox cp`);
    }
    if (held < blobBytes) continue;
    blobs.push(new Blob(chunks));
    [chunks, held] = [[], 0];
  }
  return new Blob([...blobs, ...chunks], { type: "application/octet-stream" });
}
