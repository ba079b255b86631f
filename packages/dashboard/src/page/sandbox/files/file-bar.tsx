/** Where the folder is, and what can be done in it. */
import { FilePlus, FolderPlus, RefreshCw, Upload } from "lucide-react";
import { useRef } from "react";
import { Button, IconButton } from "../../components/button.tsx";
import type { Polled } from "../../data/poller.ts";
import { Breadcrumbs } from "./folder/breadcrumbs.tsx";
import type { EntryTask } from "./folder/entry-dialog.tsx";
import { type Listing, mostEntries } from "./folder/list-folder.ts";

interface FileBarProps {
  readonly folder: string;
  readonly polled: Polled<Listing> & { readonly refresh: () => void };
  readonly onOpen: (folder: string) => void;
  readonly onTask: (task: EntryTask) => void;
  readonly onUpload: (files: readonly File[]) => void;
}

export function FileBar({ folder, polled, onOpen, onTask, onUpload }: FileBarProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div className="list-bar file-bar">
      <Breadcrumbs folder={folder} onOpen={onOpen} />
      <span className="log-state faint small" role="status">
        {stateOf(polled)}
      </span>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ target }) => {
          onUpload([...(target.files ?? [])]);
          // The same file can be chosen again.
          target.value = "";
        }}
      />
      <IconButton icon={RefreshCw} label="Refresh" onClick={polled.refresh} />
      <IconButton icon={FolderPlus} label="New folder" onClick={() => onTask({ id: "new-folder" })} />
      <IconButton icon={FilePlus} label="New file" onClick={() => onTask({ id: "new-file" })} />
      <Button icon={Upload} variant="primary" onClick={() => input.current?.click()}>
        Upload
      </Button>
    </div>
  );
}

function stateOf({ value, error, isPaused }: Polled<Listing>): string {
  const count = value?.entries.length ?? 0;
  const shown =
    value?.isCut === true ? `The first ${mostEntries} entries` : count === 1 ? "1 entry" : `${count} entries`;
  const state = error !== undefined ? "Not current" : isPaused ? "Paused, so that the sandbox can sleep" : "";
  return [...(value === undefined ? [] : [shown]), ...(state === "" ? [] : [state])].join(" · ");
}
