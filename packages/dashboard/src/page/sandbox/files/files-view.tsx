/** The files below the root that the runtime serves: browse, read, edit, upload, download, rename and delete. */
import { useCallback, useRef, useState } from "react";
import { cleanText } from "../../components/clean-text.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { formatBytes } from "../../components/format.ts";
import { useBackend } from "../../data/backend.ts";
import { RuntimeView } from "../runtime/runtime-view.tsx";
import { useSandbox } from "../sandbox-context.tsx";
import { nameOf, shownName } from "./folder/file-path.ts";
import { FolderView } from "./folder-view.tsx";
import { mostImageBytes, mostTextBytes } from "./preview/read-preview.ts";
import { mostDownloadBytes } from "./transfers/jobs.ts";
import { TransferList } from "./transfers/transfer-list.tsx";
import { mostTransfers } from "./transfers/transfers.ts";
import { transfersOf } from "./transfers/transfers-of.ts";
import { type Opened, useOpened } from "./use-opened.ts";

export default function FilesView() {
  const { name = "my-sandbox", namespace = "default" } = useSandbox().sandbox.metadata;
  return (
    <RuntimeView command={`agent-sandbox exec ${cleanText(name)} -n ${cleanText(namespace)} -- ls -l`}>
      <Browser />
    </RuntimeView>
  );
}

/** Asks before an edited text is lost. */
function Browser() {
  const { metadata } = useSandbox().sandbox;
  const transfers = transfersOf(useBackend(), metadata.uid ?? "");
  const opened = useOpened();
  const isChanged = useRef(false);
  const [pending, setPending] = useState<() => void>();
  const onChanged = useCallback((next: boolean) => {
    isChanged.current = next;
  }, []);
  const guard = (go: () => void): void => {
    if (isChanged.current) setPending(() => go);
    else go();
  };
  const guarded: Opened = {
    ...opened,
    openFolder: (folder) => guard(() => opened.openFolder(folder)),
    openFile: (file) => file !== opened.file && guard(() => opened.openFile(file)),
  };
  return (
    <div className="stack">
      <FolderView key={opened.folder} opened={guarded} transfers={transfers} onChanged={onChanged} />
      <TransferList transfers={transfers} />
      <p className="faint small file-limits">
        Text is shown up to {formatBytes(mostTextBytes)} and images up to {formatBytes(mostImageBytes)}. Downloads have
        at most {formatBytes(mostDownloadBytes)}, and {mostTransfers} files wait at a time. The disk of the sandbox
        limits uploads. For more, use <code>agent-sandbox cp</code>.
      </p>
      {pending !== undefined && (
        <ConfirmDialog
          title="Discard your changes?"
          action="Discard changes"
          run={async () => pending()}
          onClose={() => setPending(undefined)}
        >
          <p>You have changed {shownName(nameOf(opened.file ?? ""))} and not saved it.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}
