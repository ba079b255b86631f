import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { arch } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { runCommand } from "../system/run-command.ts";

type PackHeader = Parameters<ReturnType<typeof pack>["entry"]>[0];

/** An entry of a layer: its tar header and content. */
export type TestEntry = PackHeader & { readonly content?: string | Buffer };

export interface TestImage {
  /** Lowest first. */
  readonly layers: readonly (readonly TestEntry[])[];
  readonly config?: object;
  readonly architecture?: string;
  /** Encodes a layer for storage. Default: gzip. */
  readonly encode?: (archive: Buffer) => Buffer;
}

/** Writes an image as an OCI layout. It is built by hand, so that tests can make it invalid in any way. */
export async function writeTestImage(folder: string, image: TestImage, name = "latest"): Promise<void> {
  const blobs = join(folder, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  const add = async (content: Buffer | string, mediaType: string): Promise<object> => {
    const digest = createHash("sha256").update(content).digest("hex");
    await writeFile(join(blobs, digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(content) };
  };
  const archives = await Promise.all(image.layers.map((entries) => tarOf(entries)));
  const config = {
    architecture: image.architecture ?? (arch() === "x64" ? "amd64" : arch()),
    os: "linux",
    config: image.config ?? {},
    rootfs: {
      type: "layers",
      diff_ids: archives.map((archive) => `sha256:${createHash("sha256").update(archive).digest("hex")}`),
    },
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: await add(JSON.stringify(config), "application/vnd.oci.image.config.v1+json"),
    layers: await Promise.all(
      archives.map((archive) =>
        add((image.encode ?? gzipSync)(archive), "application/vnd.oci.image.layer.v1.tar+gzip"),
      ),
    ),
  };
  const listed = await add(JSON.stringify(manifest), manifest.mediaType);
  const annotations = { "org.opencontainers.image.ref.name": name };
  await writeFile(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await writeFile(
    join(folder, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...listed, annotations }] }),
  );
}

/** Writes an image as a tar archive of an OCI layout. */
export async function writeTestArchive(folder: string, image: TestImage, name?: string): Promise<string> {
  const layout = join(folder, "layout");
  await writeTestImage(layout, image, name);
  const file = join(folder, "image.tar");
  await runCommand("tar", ["-C", layout, "-cf", file, "."]);
  return file;
}

async function tarOf(entries: readonly TestEntry[]): Promise<Buffer> {
  const archive = pack();
  for (const { content, ...given } of entries) {
    // A fixed time, so that the same entries make the same layer.
    const header = { mtime: new Date(0), ...given };
    if (content === undefined) archive.entry(header).end("");
    else archive.entry(header, content);
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}

export const file = (name: string, content = "", more: Partial<PackHeader> = {}): TestEntry => ({
  name,
  type: "file",
  mode: 0o644,
  content,
  ...more,
});
