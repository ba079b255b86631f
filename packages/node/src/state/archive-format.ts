import type { SnapshotDepth } from "@agent-sandbox/api";
import type { ImageMeta } from "./image-meta.ts";
import type { StoredSnapshot } from "./snapshot-store.ts";
import { StateError } from "./state-error.ts";

/**
 * The archive of a snapshot is a tar archive with regular files only: `manifest.json`, and the members that it lists, in its
 * order. Every header is the one that `memberHeader` makes, so a reader compares headers and interprets none.
 */
export const archiveFormat = "agent-sandbox-snapshot";
export const manifestName = "manifest.json";
export const blockBytes = 512;
export const mostManifestBytes: number = 2 ** 20;

export interface ArchiveMember {
  /** `checkpoint/<file>`, or `layers/<container>.tar`, `claims/<volume>.tar` or `volumes/<volume>.tar`. */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly format: typeof archiveFormat;
  readonly version: 1;
  readonly snapshot: Pick<StoredSnapshot, "depth" | "epoch" | "runtime" | "containers" | "pauseMs" | "createdAt"> & {
    readonly name: string;
    readonly namespace: string;
    /** The name of the Sandbox that was captured. */
    readonly sandbox: string;
    /** The volumes whose files were in memory. */
    readonly memoryVolumes: readonly string[];
  };
  /** What must fit when the memory is restored. Absent for depth Filesystem. */
  readonly image?: Pick<ImageMeta, "runtime" | "build" | "cpu" | "specHash" | "identity" | "savedAt"> & {
    readonly containers: Readonly<Record<string, ArchivedContainer>>;
  };
  /** Named pipes, sockets and devices, which are not in the archive. */
  readonly omitted: number;
  readonly members: readonly ArchiveMember[];
  /** The sum of the members' sizes. */
  readonly totalBytes: number;
}

/** What the next Pod takes over from the record of a saved container. */
export interface ArchivedContainer {
  readonly attempt: number;
  readonly runtime: string;
  readonly startedAt: number;
  readonly hooked: boolean;
  /** Present for a container that had ended. */
  readonly ended?: {
    readonly exitCode: number;
    readonly reason: "Completed" | "Error" | "OOMKilled" | "ContainerStatusUnknown";
    readonly startedAt: number;
    readonly finishedAt: number;
  };
}

export function invalid(why: string, cause?: unknown): StateError {
  return new StateError("ArchiveInvalid", `Cannot import the archive: ${why}`, { cause });
}

/** The tar header (ustar) of a member. The size of a member of 8 GiB or more is a binary number, as GNU tar writes it. */
export function memberHeader(name: string, bytes: number): Buffer {
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0, 100, "latin1");
  // The mode and the owners, each with a zero byte at its end.
  header.write(["0000600", "0000000", "0000000", ""].join("\0"), 100, "latin1");
  if (bytes < 8 ** 11) header.write(`${bytes.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(bytes), 128);
  }
  header.write("00000000000\0", 136, "latin1");
  // The checksum is computed as if its own field had blanks.
  header.fill(" ", 148, 156);
  header.write("0", 156, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

/** The zeros after the content of a member. */
export function paddingOf(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - (bytes % blockBytes)) % blockBytes);
}

export type TreeKind = "layers" | "claims" | "volumes";
export type MemberPlace =
  | { readonly kind: "checkpoint"; readonly file: string }
  | { readonly kind: TreeKind; readonly name: string };

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const treeName = new RegExp(`^(layers|claims|volumes)/(${label})\\.tar$`);
const fileName = /^checkpoint\/([a-z0-9_]{1,40}\.img)$/;

/** Undefined for a name that no member has. */
export function parseMemberName(name: string): MemberPlace | undefined {
  const [, file] = fileName.exec(name) ?? [];
  if (file !== undefined) return { kind: "checkpoint", file };
  const [, kind, tree] = treeName.exec(name) ?? [];
  return tree === undefined ? undefined : { kind: kind as TreeKind, name: tree };
}

export function isLabel(text: unknown): text is string {
  return typeof text === "string" && new RegExp(`^${label}$`).test(text);
}

export const depths: readonly SnapshotDepth[] = ["Filesystem", "Memory"];
