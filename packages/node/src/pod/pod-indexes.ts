import type { Pod } from "@agent-sandbox/api";
import { keepRootfsAnnotation } from "../image/kept-rootfs.ts";
import { referencesOf } from "../volume/references.ts";

/** The keys of a Pod in the indexes of the node's cache. */

export function uidsOf({ metadata }: Pod): string[] {
  return metadata?.uid === undefined ? [] : [metadata.uid];
}

/** The objects that its volumes are filled from. */
export function sourcesOf(pod: Pod): string[] {
  return referencesOf(pod).map(({ kind, name }) => `${kind}/${pod.metadata?.namespace}/${name}`);
}

/**
 * The UID of the Sandbox whose kept files it asks for, or "". Not verified: a Pod that names the Sandbox of somebody else gets none of
 * its files. It only waits while a saved Pod of that Sandbox is removed.
 */
export function wantedFiles({ metadata }: Pod): string {
  return metadata?.annotations?.[keepRootfsAnnotation] ?? "";
}
