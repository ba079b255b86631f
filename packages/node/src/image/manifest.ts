import { NodeError } from "../errors.ts";

/** An image's configuration and its layers, lowest first. */
export interface Manifest {
  readonly config: Blob;
  readonly layers: readonly Blob[];
}

export interface Blob {
  /** Hexadecimal digits of the SHA-256. */
  readonly digest: string;
  readonly sizeBytes: number;
}

/** The part of an image's configuration that its containers use. */
export interface ImageDescription {
  readonly architecture: string;
  /** The digests of the uncompressed layers, lowest first. */
  readonly diffIds: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly environment: readonly string[];
  readonly user: string;
  readonly workingDir: string;
  readonly stopSignal: string;
}

/**
 * The options of a mount must fit into one page of 4096 bytes, and each layer takes 39: the folder of short names and
 * eight digits.
 */
export const mostLayers = 90;

export function parseManifest(text: string, limits: { readonly imageBytes: number }): Manifest {
  const { config, layers } = asRecord(parse(text, "manifest"), "manifest");
  if (!Array.isArray(layers) || layers.length === 0) throw malformed("manifest", "it has no layers");
  if (layers.length > mostLayers)
    throw malformed("manifest", `it has ${layers.length} layers, more than the limit of ${mostLayers}`);
  const blobs = layers.map((layer) => blobOf(layer));
  const total = blobs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (total > limits.imageBytes)
    throw malformed("manifest", `its layers have ${total} bytes, more than the limit of ${limits.imageBytes}`);
  return { config: blobOf(config), layers: blobs };
}

export function parseImageDescription(text: string): ImageDescription {
  const { architecture, rootfs, config } = asRecord(parse(text, "configuration"), "configuration");
  const own = config === undefined || config === null ? {} : asRecord(config, "configuration");
  return {
    architecture: textOf(architecture, "architecture"),
    diffIds: textsOf(asRecord(rootfs, "configuration")["diff_ids"], "diff_ids").map(hexOf),
    entrypoint: textsOf(own["Entrypoint"], "Entrypoint"),
    command: textsOf(own["Cmd"], "Cmd"),
    environment: textsOf(own["Env"], "Env"),
    user: textOf(own["User"], "User"),
    workingDir: textOf(own["WorkingDir"], "WorkingDir"),
    stopSignal: textOf(own["StopSignal"], "StopSignal"),
  };
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed(what, "it is not valid JSON", error);
  }
}

function asRecord(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw malformed(what, "it is not a JSON object");
  return value as Record<string, unknown>;
}

function blobOf(value: unknown): Blob {
  const { digest, size } = asRecord(value, "manifest");
  if (!Number.isSafeInteger(size) || Number(size) < 0) throw malformed("manifest", "a size is not a number of bytes");
  return { digest: hexOf(textOf(digest, "digest")), sizeBytes: Number(size) };
}

/** Digests become file names, so they may contain nothing but hexadecimal digits. */
export function hexOf(digest: string): string {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  if (hex === undefined) throw malformed("digest", `"${digest}" is not "sha256:" followed by 64 hexadecimal digits`);
  return hex;
}

function textsOf(value: unknown, field: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw malformed("configuration", `${field} is not a list`);
  return value.map((one) => textOf(one, field));
}

function textOf(value: unknown, field: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string" || value.includes("\0")) throw malformed("configuration", `${field} is not a string`);
  return value;
}

function malformed(what: string, why: string, cause?: unknown): NodeError {
  return new NodeError("ErrImagePull", `Cannot use the image's ${what}: ${why}`, { cause });
}
