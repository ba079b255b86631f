import { mkdir, open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { SnapshotDepth } from "@agent-sandbox/api";
import { isSafeUid, type Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { removeTree } from "../system/remove-tree.ts";
import type { Discard } from "../system/trash.ts";
import { type FileSums, partialSuffix } from "./image-files.ts";
import type { SealedFiles } from "./sealed-meta.ts";
import { VerifiedImages } from "./verified-images.ts";

/** A container of the source, and the image that its writable layer was written over. */
export interface SnapshotContainer {
  readonly name: string;
  /** The image name in the Pod's spec. */
  readonly reference: string;
  /** The id that the name resolved to. */
  readonly image: string;
}

/** The record of a complete snapshot. */
export interface StoredSnapshot {
  readonly version: 1;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly sandbox: { readonly name: string; readonly uid: string };
  readonly depth: SnapshotDepth;
  readonly epoch: number;
  readonly runtime: { readonly name: string; readonly version: string };
  readonly containers: readonly SnapshotContainer[];
  /** The volumes of the Sandbox's claims whose files are in the snapshot, by their names in the Pod. */
  readonly claims: readonly string[];
  /** The encrypted volumes of a snapshot without memory. With memory, the description of the image has them. */
  readonly sealed?: SealedFiles;
  readonly pauseMs: number;
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** What a crash in the middle of a capture may leave: a paused Pod. Written before the Pod is paused. */
export interface CaptureIntent {
  readonly podUid: string;
  readonly runtime: string;
  /** The containers that are paused, by their ids in the runtime. */
  readonly paused: readonly string[];
  /** The containers whose processes are stopped before that. */
  readonly stopped?: readonly string[];
}

export function snapshotsFolder({ stateDir }: Pick<Layout, "stateDir">): string {
  return join(stateDir, "snapshots");
}

/** The folder of a snapshot. One of depth Memory is an image as well: see `image-files.ts`. */
export function snapshotFolder(layout: Pick<Layout, "stateDir">, uid: string): string {
  if (!isSafeUid(uid)) throw new Error(`"${uid}" is not a valid UID of a snapshot`);
  return join(snapshotsFolder(layout), uid);
}

/** The writable layer of a container in a snapshot. Names of containers are DNS labels. */
export function layerIn(snapshot: string, container: string): string {
  return join(snapshot, "layers", container);
}

/** The files of a claim in a snapshot. Names of volumes are DNS labels. */
export function claimIn(snapshot: string, volume: string): string {
  return join(snapshot, "claims", volume);
}

export const snapshotFile = "snapshot.json";
const intentFile = "intent.json";

/**
 * The snapshots of a node, one folder each, named by the UID of the SandboxSnapshot. A folder has its final name only when it is
 * complete and synced, so a crash leaves no partial snapshot. Snapshots contain the memory of tenants: only root can read them.
 */
export class SnapshotStore {
  readonly #layout: Pick<Layout, "stateDir">;
  readonly #discard: Discard;
  readonly #verified = new VerifiedImages();

  constructor(layout: Pick<Layout, "stateDir">, discard: Discard = removeTree) {
    this.#layout = layout;
    this.#discard = discard;
  }

  async read(uid: string): Promise<StoredSnapshot | undefined> {
    if (!isSafeUid(uid)) return undefined;
    const value = (await readJson(join(snapshotFolder(this.#layout, uid), snapshotFile))) as StoredSnapshot | undefined;
    return value?.version === 1 && value.uid === uid ? value : undefined;
  }

  /** All complete snapshots. A record that cannot be read is left out. */
  async list(): Promise<readonly StoredSnapshot[]> {
    const names = await namesIn(snapshotsFolder(this.#layout));
    const found = await Promise.all(names.map((name) => this.read(name).catch(() => undefined)));
    return found.filter((one) => one !== undefined);
  }

  /** Throws `ImageDamaged` unless the saved memory is as it was written. Remembers the result for a while. */
  verify(uid: string, files: FileSums): Promise<void> {
    return this.#verified.verify(snapshotFolder(this.#layout, uid), files);
  }

  /** Called when a snapshot was committed whose saved memory has these sums. */
  remember(uid: string, files: FileSums): Promise<void> {
    return this.#verified.remember(snapshotFolder(this.#layout, uid), files);
  }

  /** The UIDs of all folders, complete or damaged. */
  async uids(): Promise<readonly string[]> {
    return (await namesIn(snapshotsFolder(this.#layout))).filter(isSafeUid);
  }

  /** Makes an empty folder for a new snapshot, and records what the capture does to the Pod. Returns its path. */
  async begin(uid: string, intent: CaptureIntent): Promise<string> {
    const partial = this.#partial(uid);
    await this.#discard(partial);
    for (const name of ["layers", "claims", "checkpoint", "volumes"]) {
      await mkdir(join(partial, name), { recursive: true, mode: 0o700 });
    }
    await writeJson(join(partial, intentFile), intent, { durable: true });
    return partial;
  }

  /** Completes the snapshot whose files are synced. */
  async commit(stored: StoredSnapshot): Promise<void> {
    const partial = this.#partial(stored.uid);
    await writeJson(join(partial, snapshotFile), stored, { durable: true });
    await rename(partial, snapshotFolder(this.#layout, stored.uid));
    await syncFolder(snapshotsFolder(this.#layout));
  }

  async abandon(uid: string): Promise<void> {
    await this.#discard(this.#partial(uid));
  }

  async remove(uid: string): Promise<void> {
    await this.#discard(snapshotFolder(this.#layout, uid));
    await this.abandon(uid);
  }

  /** The captures that a crash interrupted, by the UIDs of their snapshots. The intent is undefined if no Pod was paused. */
  async interrupted(): Promise<ReadonlyMap<string, CaptureIntent | undefined>> {
    const folder = snapshotsFolder(this.#layout);
    const found = new Map<string, CaptureIntent | undefined>();
    for (const name of await namesIn(folder)) {
      const uid = name.endsWith(partialSuffix) ? name.slice(0, -partialSuffix.length) : "";
      if (!isSafeUid(uid)) continue;
      const intent = await readJson(join(folder, name, intentFile)).catch(() => undefined);
      found.set(uid, intent as CaptureIntent | undefined);
    }
    return found;
  }

  #partial(uid: string): string {
    return `${snapshotFolder(this.#layout, uid)}${partialSuffix}`;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
