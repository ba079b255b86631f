import { noFields } from "./field-set.ts";
import type { ManagedEntry } from "./managed-table.ts";
import type { KindVersions } from "./versioned.ts";

/** The writer of an object, its endpoint and the time. */
export interface Writer {
  readonly kind: KindVersions;
  readonly manager: string;
  /** The subresource that is written, such as `status`. Default: the object itself. */
  readonly subresource?: string | undefined;
  /** RFC 3339, in seconds. */
  readonly now: string;
}

interface EntryStart extends Pick<ManagedEntry, "manager" | "operation" | "apiVersion" | "time"> {
  readonly subresource: string | undefined;
}

export function newEntry({ manager, subresource = "", ...rest }: EntryStart): ManagedEntry {
  return { manager: manager === "" ? "unknown" : manager, subresource, ...rest, fields: noFields };
}
