/** A folder with its entries, and beside it the file that is open. */
import { useState } from "react";
import { Problem } from "../../components/problem.tsx";
import { usePolled } from "../../data/use-polled.ts";
import { useRuntime } from "../runtime/use-runtime.ts";
import { DropZone } from "./drop-zone.tsx";
import { FileBar } from "./file-bar.tsx";
import { EntryDialog, type EntryTask } from "./folder/entry-dialog.tsx";
import { joinPath, nameOf, parentOf, shownName } from "./folder/file-path.ts";
import { listFolder } from "./folder/list-folder.ts";
import { FolderList } from "./folder-list.tsx";
import { FilePanel } from "./preview/file-panel.tsx";
import { droppedFiles } from "./transfers/dropped-files.ts";
import type { Transfers } from "./transfers/transfers.ts";
import { useEntryActions } from "./use-entry-actions.ts";
import type { Opened } from "./use-opened.ts";

interface FolderViewProps {
  readonly opened: Opened;
  readonly transfers: Transfers;
  readonly onChanged: (isChanged: boolean) => void;
}

export function FolderView({ opened, transfers, onChanged }: FolderViewProps) {
  const { folder } = opened;
  const connect = useRuntime();
  const polled = usePolled(async (signal) => listFolder((await connect()).files, folder, signal));
  const { value: listing, refresh } = polled;
  const [task, setTask] = useState<EntryTask>();
  const isListed = (name: string): boolean => listing?.entries.some((entry) => entry.name === name) === true;
  const { actions, upload } = useEntryActions({ opened, transfers, isListed, refresh, setTask });
  const file = opened.file !== undefined && parentOf(opened.file) === folder ? opened.file : undefined;
  const downloadFile = (): void => {
    const entry = listing?.entries.find(({ name }) => joinPath(folder, name) === file);
    if (entry !== undefined) actions.download(entry);
  };
  return (
    <div className={file === undefined ? "file-columns" : "file-columns file-columns-open"}>
      <DropZone
        place={folder === "" ? "workspace" : shownName(nameOf(folder))}
        onDrop={(transfer) => upload(() => droppedFiles(transfer))}
      >
        <div className="card file-list">
          <FileBar
            folder={folder}
            polled={polled}
            onOpen={opened.openFolder}
            onTask={setTask}
            onUpload={(files) => upload(() => files.map((one) => ({ file: one, path: one.name })))}
          />
          <Problem error={polled.error} />
          <FolderList listing={listing} hasFailed={polled.error !== undefined} actions={actions} />
        </div>
      </DropZone>
      {file !== undefined && (
        <FilePanel
          key={file}
          path={file}
          onChanged={onChanged}
          onSaved={refresh}
          onDownload={downloadFile}
          onClose={() => opened.openFile(undefined)}
        />
      )}
      {task !== undefined && (
        <EntryDialog
          task={task}
          folder={folder}
          isListed={isListed}
          onClose={() => setTask(undefined)}
          onDone={({ opened: path, gone }) => {
            refresh();
            if (path !== undefined) opened.openFile(path);
            else if (gone !== undefined && gone === file) opened.openFile(undefined);
          }}
        />
      )}
    </div>
  );
}
