/** The entries of a folder. */
import type { FileEntry } from "@agent-sandbox/sdk";
import { FolderOpen } from "lucide-react";
import { useMemo, useState } from "react";
import { EmptyState } from "../../components/empty-state.tsx";
import { type Sorting, Table } from "../../components/table.tsx";
import { type EntryActions, fileColumns } from "./folder/file-columns.tsx";
import { type Listing, type SortColumn, sortEntries } from "./folder/list-folder.ts";

interface FolderListProps {
  readonly listing: Listing | undefined;
  readonly hasFailed: boolean;
  readonly actions: EntryActions;
}

export function FolderList({ listing, hasFailed, actions }: FolderListProps) {
  const [sorting, setSorting] = useState<Sorting>({ by: "name", isDescending: false });
  const columns = useMemo(() => fileColumns(actions), [actions]);
  const entries = listing?.entries;
  const items = useMemo(
    () => sortEntries(entries ?? [], sorting.by as SortColumn, sorting.isDescending),
    [entries, sorting],
  );
  if (entries === undefined) {
    if (hasFailed) return null;
    return (
      <div className="loading" role="status">
        <span className="spinner" aria-hidden />
        <span className="visually-hidden">Reading the folder</span>
      </div>
    );
  }
  if (entries.length === 0) {
    return (
      <EmptyState icon={FolderOpen} title="This folder is empty">
        Drop files or folders here to upload them.
      </EmptyState>
    );
  }
  return (
    <Table
      label="Files"
      columns={columns}
      items={items}
      keyOf={keyOf}
      sorting={sorting}
      onSort={setSorting}
      maxHeight="max(340px, calc(100vh - 400px))"
    />
  );
}

const keyOf = ({ name }: FileEntry): string => name;
