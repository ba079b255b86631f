/** The dialogs that change a folder: new folder, new file, rename and delete. */
import type { FileEntry, Files } from "@agent-sandbox/sdk";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { useToast } from "../../../components/toast.tsx";
import { useRuntime } from "../../runtime/use-runtime.ts";
import { joinPath, shownName } from "./file-path.ts";
import { NameDialog } from "./name-dialog.tsx";

export type EntryTask =
  | { readonly id: "new-folder" }
  | { readonly id: "new-file" }
  | { readonly id: "rename"; readonly entry: FileEntry }
  | { readonly id: "remove"; readonly entry: FileEntry };

interface EntryDialogProps {
  readonly task: EntryTask;
  readonly folder: string;
  /** Whether the list shows an entry with this name. */
  readonly isListed: (name: string) => boolean;
  /** `opened`: a file that was created. `gone`: what has another name now, or none. */
  readonly onDone: (result: { readonly opened?: string; readonly gone?: string }) => void;
  readonly onClose: () => void;
}

export function EntryDialog({ task, folder, isListed, onDone, onClose }: EntryDialogProps) {
  const connect = useRuntime();
  const toast = useToast();
  const change = async (work: (files: Files) => Promise<void>, said: string): Promise<void> => {
    const { files } = await connect();
    await work(files);
    toast.done(said);
  };
  if (task.id === "remove") {
    const { name, type } = task.entry;
    const path = joinPath(folder, name);
    const isFolder = type === "directory";
    const remove = async (): Promise<void> => {
      await change((files) => files.remove(path, { recursive: isFolder }), `"${shownName(name)}" deleted`);
      onDone({ gone: path });
    };
    return (
      <ConfirmDialog
        title={`Delete ${shownName(name)}?`}
        action={isFolder ? "Delete folder" : "Delete file"}
        run={remove}
        onClose={onClose}
      >
        <p>{isFolder ? "Everything in the folder is deleted too." : "The file is deleted."} This cannot be undone.</p>
      </ConfirmDialog>
    );
  }
  if (task.id === "rename") {
    const { name } = task.entry;
    const rename = async (next: string): Promise<void> => {
      const path = joinPath(folder, name);
      await change((files) => files.move(path, joinPath(folder, next)), `Renamed to "${shownName(next)}"`);
      onDone({ gone: path });
    };
    return (
      <NameDialog title={`Rename ${shownName(name)}`} action="Rename" initial={name} run={rename} onClose={onClose} />
    );
  }
  const isFolder = task.id === "new-folder";
  const create = async (name: string): Promise<void> => {
    const path = joinPath(folder, name);
    // The runtime API accepts a folder that is there already.
    if (isListed(name)) throw new Error("There is a file or folder with this name");
    await change(
      (files) => (isFolder ? files.makeDir(path) : files.write(path, "", { createOnly: true })),
      `"${shownName(name)}" created`,
    );
    onDone(isFolder ? {} : { opened: path });
  };
  return (
    <NameDialog
      title={isFolder ? "New folder" : "New file"}
      action={isFolder ? "Create folder" : "Create file"}
      run={create}
      onClose={onClose}
    />
  );
}
