import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { NodeError } from "../errors.ts";
import { type Layout, podPaths } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { removeTree } from "../system/remove-tree.ts";
import type { Discard } from "../system/trash.ts";

/**
 * Annotation on a Pod with the UID of its Sandbox. The Pod's writable layer is kept for the next Pod of that Sandbox. Ignored
 * unless that Sandbox controls the Pod: see `keptForOf`.
 */
export const keepRootfsAnnotation = "agents.x-k8s.io/keep-rootfs";

/** The record beside a kept layer. */
export interface KeptLayer {
  /** The image name in the Pod's spec. */
  readonly reference: string;
  /** The id that the name resolved to. */
  readonly image: string;
  /** The UID of the Pod that uses the layer, or used it last. */
  readonly holder: string;
}

export const keptFile = "kept.json";

export function keptFolder(layout: Layout): string {
  return join(layout.dataDir, "kept");
}

export interface KeptPaths {
  readonly dir: string;
  readonly upper: string;
  readonly work: string;
}

export function keptPaths(layout: Layout, value: string, container: string): KeptPaths {
  const dir = join(keptFolder(layout), value, container);
  return { dir, upper: join(dir, "upper"), work: join(dir, "work") };
}

export async function readKept(paths: KeptPaths): Promise<KeptLayer | undefined> {
  return (await readJson(join(paths.dir, keptFile))) as KeptLayer | undefined;
}

/**
 * Takes the kept layer for a Pod. If the Pod's spec names another image than the layer was written over, the layer is
 * discarded. Throws while another Pod that uses the layer exists, because two Pods cannot write to it; the caller retries.
 */
export async function takeKept(
  layout: Layout,
  paths: KeptPaths,
  wanted: KeptLayer,
  discard: Discard = removeTree,
): Promise<void> {
  const before = await readKept(paths);
  if (isDeepStrictEqual(before, wanted)) return;
  if (before !== undefined && before.holder !== wanted.holder) {
    if (await exists(layout, before.holder)) {
      throw new NodeError("SandboxError", `Cannot take the kept root filesystem: Pod ${before.holder} still uses it`);
    }
    if (before.reference !== wanted.reference) await discard(paths.dir);
  }
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 });
  // The holder alone needs no sync: after a power failure no Pod uses the layer.
  const isOther = before?.reference !== wanted.reference || before.image !== wanted.image;
  await writeJson(join(paths.dir, keptFile), wanted, { durable: isOther });
}

export interface KeptSweep {
  readonly layout: Layout;
  /** The UIDs of all existing Sandboxes, or undefined if the API server cannot be asked. */
  readonly sandboxes: () => Promise<ReadonlySet<string> | undefined>;
  /** Default: remove at once. */
  readonly discard?: Discard;
}

/** Removes the layers of Sandboxes that no longer exist, unless a Pod still uses them. */
export async function sweepKept({ layout, sandboxes, discard = removeTree }: KeptSweep): Promise<string[]> {
  // Listed before the Sandboxes, so that a layer kept for a Sandbox created in between is not removed.
  const kept = await namesIn(keptFolder(layout));
  const existing = kept.length === 0 ? undefined : await sandboxes();
  if (existing === undefined) return [];
  const abandoned: string[] = [];
  for (const value of kept) {
    if (!existing.has(value) && (await removeKept(layout, value, discard))) abandoned.push(value);
  }
  return abandoned;
}

/** Removes the layers of a Sandbox that was deleted. Returns false while a Pod still uses them. */
export async function removeKept(layout: Layout, value: string, discard: Discard): Promise<boolean> {
  if (await isHeld(layout, value)) return false;
  await discard(join(keptFolder(layout), value));
  return true;
}

async function isHeld(layout: Layout, value: string): Promise<boolean> {
  for (const container of await namesIn(join(keptFolder(layout), value))) {
    const kept = await readKept(keptPaths(layout, value, container));
    if (kept !== undefined && (await exists(layout, kept.holder))) return true;
  }
  return false;
}

/** Whether the node has a record of a Pod. */
async function exists(layout: Layout, uid: string): Promise<boolean> {
  return (await readJson(podPaths(layout, uid).record)) !== undefined;
}
