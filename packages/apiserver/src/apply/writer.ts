import { noFields } from "./field-set.ts";
import type { ManagedEntry } from "./managed-table.ts";
import type { KindVersions, Versioned } from "./versioned.ts";

/** Who writes, through which endpoint, and when. */
export interface Writer {
  readonly kind: KindVersions;
  readonly manager: string;
  /** The subresource written through, such as `status`. Default: the object itself. */
  readonly subresource?: string | undefined;
  /** RFC 3339, in seconds. */
  readonly now: string;
}

/** An object of the same kind that has nothing yet. */
export function emptyLike({ object, type }: Versioned): Versioned {
  return { object: { apiVersion: object.apiVersion, kind: object.kind, metadata: {} }, type };
}

interface EntryStart extends Pick<ManagedEntry, "manager" | "operation" | "apiVersion" | "time"> {
  readonly subresource: string | undefined;
}

export function newEntry({ manager, subresource = "", ...rest }: EntryStart): ManagedEntry {
  return { manager: manager === "" ? "unknown" : manager, subresource, ...rest, fields: noFields };
}
