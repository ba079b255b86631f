import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { hasCode, messageOf, NodeError } from "../errors.ts";
import type { TarEntry } from "./layer-entry.ts";

/** One image of an archive: its source in skopeo's syntax, and its names. */
export interface ArchivedImage {
  readonly source: (path: string) => string;
  readonly names: readonly string[];
}

const documentLimit = 1024 * 1024;
const mostImages = 100;
const dockerList = "manifest.json";
const ociList = "index.json";

/** Lists the images of an archive in the format of `docker save` or OCI. Errors call the archive `shown`. */
export async function readArchive(path: string, shown: string): Promise<readonly ArchivedImage[]> {
  const lists = await readLists(path).catch((error: unknown) => {
    const why = hasCode(error, "ENOENT") ? "no such file" : messageOf(error);
    throw new NodeError("ErrImagePull", `Cannot read archive ${shown}: ${why}`, { cause: error });
  });
  const found = imagesIn(lists);
  if (found.length > 0 && found.length <= mostImages) return found;
  const why = found.length === 0 ? "it contains no image" : `it contains more than ${mostImages} images`;
  throw new NodeError("ErrImagePull", `Cannot read archive ${shown}: ${why}`);
}

/** Newer versions of `docker save` write both lists. Only docker's own list has all names, so it is preferred. */
export function imagesIn(lists: Readonly<Record<string, unknown>>): ArchivedImage[] {
  const docker = lists[dockerList];
  if (Array.isArray(docker)) {
    return docker.map((entry: { RepoTags?: unknown }, index) => ({
      source: (path) => `docker-archive:${path}:@${index}`,
      names: texts(entry?.RepoTags),
    }));
  }
  const manifests = (lists[ociList] as { manifests?: unknown } | undefined)?.manifests;
  if (!Array.isArray(manifests)) return [];
  return manifests.map((entry: { annotations?: Record<string, unknown> }) => {
    const [name] = texts([entry?.annotations?.["org.opencontainers.image.ref.name"]]);
    const [full] = texts([entry?.annotations?.["io.containerd.image.name"]]);
    return {
      source: (path) => (name === undefined ? `oci-archive:${path}` : `oci-archive:${path}:${name}`),
      names: texts([full ?? name]),
    };
  });
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string" && one !== "") : [];
}

async function readLists(path: string): Promise<Record<string, unknown>> {
  const decoders = (await isCompressed(path)) ? [createGunzip()] : [];
  const entries = extract();
  const feeding = pipeline([createReadStream(path), ...decoders, entries]);
  feeding.catch(() => undefined);
  const lists: Record<string, unknown> = {};
  for await (const entry of entries) {
    const name = entry.header.name.replace(/^\.\//, "");
    if (name === dockerList || name === ociList) lists[name] = JSON.parse(await textOf(entry));
    else entry.resume();
  }
  await feeding;
  return lists;
}

async function textOf(entry: TarEntry): Promise<string> {
  if ((entry.header.size ?? 0) > documentLimit) throw new Error(`its ${entry.header.name} is too long`);
  const chunks: Buffer[] = [];
  for await (const chunk of entry) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

async function isCompressed(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return buffer.readUInt16BE() === 0x1f8b;
  } finally {
    await file.close();
  }
}
