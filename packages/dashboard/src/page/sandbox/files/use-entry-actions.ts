import type { FileEntry } from "@agent-sandbox/sdk";
import { useMemo, useRef } from "react";
import { useToast } from "../../components/toast.tsx";
import { useRuntime } from "../runtime/use-runtime.ts";
import type { EntryTask } from "./folder/entry-dialog.tsx";
import type { EntryActions } from "./folder/file-columns.tsx";
import { joinPath, shownName } from "./folder/file-path.ts";
import type { DroppedFile } from "./transfers/dropped-files.ts";
import { downloadJob, uploadJob } from "./transfers/jobs.ts";
import type { Transfers } from "./transfers/transfers.ts";
import type { Opened } from "./use-opened.ts";
import { usePlace } from "./use-place.ts";

interface EntryActionsOptions {
  readonly opened: Opened;
  readonly transfers: Transfers;
  /** Whether the list shows an entry with this name. */
  readonly isListed: (name: string) => boolean;
  readonly refresh: () => void;
  readonly setTask: (task: EntryTask) => void;
}

export interface FolderActions {
  /** The same object in each render: the table renders its rows again only if it changes. */
  readonly actions: EntryActions;
  /** A failure is reported, and nothing is uploaded. */
  readonly upload: (files: () => readonly DroppedFile[] | Promise<readonly DroppedFile[]>) => void;
}

/** What the user can do with the entries of the folder that is open. */
export function useEntryActions(options: EntryActionsOptions): FolderActions {
  const toast = useToast();
  const connect = useRuntime();
  const place = usePlace();
  const now = { ...options, toast, connect, place };
  const latest = useRef(now);
  latest.current = now;
  return useMemo(() => {
    const attempt = async (what: string, work: () => void | Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        latest.current.toast.failed(what, error);
      }
    };
    const open = async (entry: FileEntry): Promise<void> => {
      const { opened } = latest.current;
      const path = joinPath(opened.folder, entry.name);
      const isLink = entry.type === "symlink";
      const type = isLink ? (await (await latest.current.connect()).files.stat(path)).type : entry.type;
      if (type === "directory") opened.openFolder(path);
      else opened.openFile(path);
    };
    const download = (entry: FileEntry): void => {
      const { transfers, opened } = latest.current;
      transfers.add([downloadJob(entry, opened.folder, latest.current.connect)]);
    };
    const upload = async (files: Parameters<FolderActions["upload"]>[0]): Promise<void> => {
      const { transfers, opened, refresh } = latest.current;
      const isListed = (name: string): boolean => latest.current.isListed(name);
      const target = { place: latest.current.place, folder: opened.folder, isListed, onDone: refresh };
      transfers.add((await files()).map((one) => uploadJob(one, target)));
    };
    return {
      upload: (files) => void attempt("Cannot upload", () => upload(files)),
      actions: {
        open: (entry) => void attempt(`Cannot open ${shownName(entry.name)}`, () => open(entry)),
        download: (entry) => void attempt("Cannot download", () => download(entry)),
        rename: (entry) => latest.current.setTask({ id: "rename", entry }),
        remove: (entry) => latest.current.setTask({ id: "remove", entry }),
      },
    };
  }, []);
}
