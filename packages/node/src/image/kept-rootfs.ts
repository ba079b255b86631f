import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import { type Layout, podPaths } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { removeTree } from "../system/remove-tree.ts";
import type { Discard } from "../system/trash.ts";

/**
 * On a Pod: its writable layer is kept when it goes, for the next Pod of the Sandbox with this UID. It is only honoured on
 * a Pod which that Sandbox controls: see `keptForOf`.
 */
export const keepRootfsAnnotation = "agents.x-k8s.io/keep-rootfs";

/** What is written beside a kept layer. */
export interface KeptLayer {
  /** The name the Pod gave. */
  readonly reference: string;
  /** The id of the image it stood for. */
  readonly image: string;
  /** The UID of the Pod that has it now, or had it last. */
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
 * Takes the kept layer for a Pod. One that was written over an image of another name is dropped: the owner has asked for
 * something else. Two Pods cannot write to one layer, so while another that holds it still exists, this fails and is tried again.
 */
export async function takeKept(
  layout: Layout,
  paths: KeptPaths,
  wanted: KeptLayer,
  discard: Discard = removeTree,
): Promise<void> {
  const before = await readKept(paths);
  if (before !== undefined && before.holder !== wanted.holder) {
    if (await exists(layout, before.holder)) {
      throw new NodeError("SandboxError", `Cannot take the kept root filesystem: Pod ${before.holder} still has it`);
    }
    if (before.reference !== wanted.reference) await discard(paths.dir);
  }
  await mkdir(paths.dir, { recursive: true, mode: 0o700 });
  await writeJson(join(paths.dir, keptFile), wanted, { durable: true });
}

export interface KeptSweep {
  readonly layout: Layout;
  /** The UIDs of all Sandboxes there are, or undefined when that cannot be told. */
  readonly sandboxes: () => Promise<ReadonlySet<string> | undefined>;
  /** Default: at once. */
  readonly discard?: Discard;
}

/** Removes what was kept for Sandboxes that are gone, once the Pods that have it are gone as well. */
export async function sweepKept({ layout, sandboxes, discard = removeTree }: KeptSweep): Promise<string[]> {
  // Before the API is asked: what is kept for a Sandbox that is new by then is not in question.
  const kept = await namesIn(keptFolder(layout));
  const existing = kept.length === 0 ? undefined : await sandboxes();
  if (existing === undefined) return [];
  const abandoned: string[] = [];
  for (const value of kept) {
    if (existing.has(value) || (await isHeld(layout, value))) continue;
    await discard(join(keptFolder(layout), value));
    abandoned.push(value);
  }
  return abandoned;
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
