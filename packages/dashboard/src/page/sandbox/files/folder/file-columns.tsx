import type { FileEntry } from "@agent-sandbox/sdk";
import {
  CornerDownRight,
  Download,
  File,
  FileArchive,
  FileCode2,
  FileImage,
  FileText,
  Folder,
  type LucideIcon,
  PencilLine,
  Trash2,
} from "lucide-react";
import { IconButton } from "../../../components/button.tsx";
import { formatBytes } from "../../../components/format.ts";
import type { Column } from "../../../components/table.tsx";
import { Text } from "../../../components/text.tsx";
import { RelativeTime } from "../../../components/time.tsx";
import { isNameBroken, shownName } from "./file-path.ts";
import { permissionsOf } from "./list-folder.ts";

export interface EntryActions {
  readonly open: (entry: FileEntry) => void;
  readonly download: (entry: FileEntry) => void;
  readonly rename: (entry: FileEntry) => void;
  readonly remove: (entry: FileEntry) => void;
}

export function fileColumns(actions: EntryActions): readonly Column<FileEntry>[] {
  return [
    {
      id: "name",
      title: "Name",
      width: "minmax(120px, 1fr)",
      isSortable: true,
      render: (entry) => <Name entry={entry} open={actions.open} />,
    },
    {
      id: "size",
      title: "Size",
      width: "84px",
      align: "end",
      isSortable: true,
      isLargestFirst: true,
      render: ({ type, size }) => (type === "directory" ? <span className="faint">–</span> : formatBytes(size)),
    },
    {
      id: "modified",
      title: "Modified",
      width: "104px",
      isSortable: true,
      isLargestFirst: true,
      isExtra: true,
      render: ({ modifiedAt }) => <RelativeTime at={isoOf(modifiedAt)} suffix=" ago" />,
    },
    {
      id: "mode",
      title: "Permissions",
      width: "104px",
      isExtra: true,
      render: ({ mode }) => (
        <span className="mono soft" title={mode}>
          <Text of={permissionsOf(mode)} />
        </span>
      ),
    },
    {
      id: "actions",
      title: "Actions",
      width: "104px",
      align: "end",
      render: (entry) => <Actions entry={entry} actions={actions} />,
    },
  ];
}

function Name({ entry, open }: { readonly entry: FileEntry; readonly open: EntryActions["open"] }) {
  const Icon = iconOf(entry);
  const name = shownName(entry.name);
  const kind = entry.type === "directory" ? "Folder" : entry.type === "symlink" ? "Link" : "File";
  return (
    <button type="button" className="link file-name" title={name} onClick={() => open(entry)}>
      <Icon size={16} aria-label={kind} className={entry.type === "directory" ? "file-folder" : "file-icon"} />
      <Text of={name} />
    </button>
  );
}

function Actions({ entry, actions }: { readonly entry: FileEntry; readonly actions: EntryActions }) {
  const name = shownName(entry.name);
  // Requests cannot name it.
  if (isNameBroken(entry.name)) return <span className="faint small">Not UTF-8</span>;
  const canDownload = entry.type === "file" || entry.type === "directory";
  return (
    <span className="file-actions">
      {canDownload && <IconButton icon={Download} label={`Download ${name}`} onClick={() => actions.download(entry)} />}
      <IconButton icon={PencilLine} label={`Rename ${name}`} onClick={() => actions.rename(entry)} />
      <IconButton icon={Trash2} label={`Delete ${name}`} onClick={() => actions.remove(entry)} />
    </span>
  );
}

/** A sandbox can set any time, also one that JavaScript cannot represent. */
function isoOf(time: Date): string | undefined {
  return Number.isFinite(time.getTime()) ? time.toISOString() : undefined;
}

function iconOf({ type, name }: FileEntry): LucideIcon {
  if (type === "directory") return Folder;
  if (type === "symlink") return CornerDownRight;
  const ending = /\.(\w{1,8})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return icons.find(([endings]) => endings.includes(ending))?.[1] ?? File;
}

const icons: readonly (readonly [endings: readonly string[], icon: LucideIcon])[] = [
  [["png", "jpg", "jpeg", "gif", "webp", "svg", "avif"], FileImage],
  [["gz", "zip", "tar", "tgz", "xz", "zst", "bz2"], FileArchive],
  [["md", "txt", "log", "csv", "pdf", "rst"], FileText],
  [["ts", "js", "py", "go", "rs", "c", "h", "sh", "json", "yaml", "yml", "toml", "html", "css", "sql"], FileCode2],
];
