/** Reads the entries of a folder, up to a limit: a sandbox can have millions of files. */
import type { FileEntry, Files } from "@agent-sandbox/sdk";

/** More entries are not shown. */
export const mostEntries = 5000;

export interface Listing {
  readonly entries: readonly FileEntry[];
  /** There are more entries than the limit. */
  readonly isCut: boolean;
}

type Tree = Pick<Files, "tree">;

export async function listFolder(
  files: Tree,
  folder: string,
  signal: AbortSignal,
  most = mostEntries,
): Promise<Listing> {
  const entries: FileEntry[] = [];
  // Unlike a list, it tells links, and it can be ended early.
  for await (const { name, size, type, mode, modifiedAt } of files.tree(folder, { depth: 1, signal })) {
    if (entries.length === most) return { entries: sorted(entries), isCut: true };
    entries.push({ name, size, type, mode, modifiedAt });
  }
  return { entries: sorted(entries), isCut: false };
}

/** Folders first, then by name, with numbers in their order. */
function sorted(entries: FileEntry[]): readonly FileEntry[] {
  const rank = ({ type }: FileEntry): number => (type === "directory" ? 0 : 1);
  return entries.sort((a, b) => rank(a) - rank(b) || collator.compare(a.name, b.name) || (a.name < b.name ? -1 : 1));
}

const collator = new Intl.Collator("en", { numeric: true });

export type SortColumn = "name" | "size" | "modified";

/** In another order. By name the folders come first. */
export function sortEntries(
  entries: readonly FileEntry[],
  by: SortColumn,
  isDescending: boolean,
): readonly FileEntry[] {
  if (by === "name") return isDescending ? entries.toReversed() : entries;
  const keyOf = (entry: FileEntry): number => (by === "size" ? entry.size : entry.modifiedAt.getTime());
  const direction = isDescending ? -1 : 1;
  return entries.toSorted((a, b) => direction * (keyOf(a) - keyOf(b)));
}

/** As `ls` writes permissions: `rwxr-xr-x` for `0755`. */
export function permissionsOf(mode: string): string {
  if (!/^0?[0-7]{3}$/.test(mode)) return mode;
  return Array.from(mode.slice(-3), (digit) => letters(Number(digit))).join("");
}

function letters(bits: number): string {
  return `${bits & 4 ? "r" : "-"}${bits & 2 ? "w" : "-"}${bits & 1 ? "x" : "-"}`;
}
