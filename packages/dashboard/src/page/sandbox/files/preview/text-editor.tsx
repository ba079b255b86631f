/** A text of the sandbox. It is saved only if the file is still the one that was read. */
import { RotateCcw, Save } from "lucide-react";
import { type KeyboardEvent, useEffect, useState } from "react";
import { Button } from "../../../components/button.tsx";
import { cleanLines } from "../../../components/clean-text.ts";
import { formatBytes } from "../../../components/format.ts";
import { Problem } from "../../../components/problem.tsx";
import { useToast } from "../../../components/toast.tsx";
import { nameOf, shownName } from "../folder/file-path.ts";
import { FileChanged, putFile } from "../transfers/put-file.ts";
import { usePlace } from "../use-place.ts";
import { mostTextBytes, type Preview } from "./read-preview.ts";
import { fileContent } from "./text-content.ts";

interface TextEditorProps {
  readonly path: string;
  readonly preview: Extract<Preview, { readonly kind: "text" }>;
  readonly onChanged: (isChanged: boolean) => void;
  readonly onSaved: () => void;
  readonly onReload: () => void;
}

export function TextEditor({ path, preview, onChanged, onSaved, onReload }: TextEditorProps) {
  const { content, isCut } = preview;
  const { draft, saved, edit, save, overwrite, isBusy, error } = useDraft(path, preview, onSaved);
  const isChanged = draft !== undefined;
  useEffect(() => {
    onChanged(isChanged);
    return () => onChanged(false);
  }, [isChanged, onChanged]);
  const canEdit = content.locked === undefined;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    if (isChanged) void save();
  };
  return (
    <>
      <div className="list-bar file-bar">
        <span className="faint small" role="status">
          {isCut ? `The first ${formatBytes(mostTextBytes)}. ${content.locked}` : (content.locked ?? "")}
          {canEdit && (isChanged ? "Changed, not saved" : "Edit the text here")}
        </span>
        <span className="space" />
        {!canEdit && <span className="badge">Read only</span>}
        {isChanged && (
          <Button variant="ghost" icon={RotateCcw} isSmall onClick={() => edit(undefined)}>
            Discard
          </Button>
        )}
        {canEdit && (
          <Button
            variant={isChanged ? "primary" : "secondary"}
            icon={Save}
            isSmall
            isBusy={isBusy}
            disabled={!isChanged}
            aria-keyshortcuts="Control+S Meta+S"
            onClick={() => void save()}
          >
            Save
          </Button>
        )}
      </div>
      {error instanceof FileChanged ? (
        <Conflict onReload={onReload} onOverwrite={() => void overwrite()} />
      ) : (
        <Problem error={error} />
      )}
      <textarea
        className="code-editor file-text"
        aria-label={`Content of ${shownName(nameOf(path))}`}
        spellCheck={false}
        autoCapitalize="off"
        readOnly={!canEdit || isBusy}
        value={draft ?? (canEdit ? saved.text : cleanLines(content.text))}
        onChange={({ target }) => edit(target.value)}
        onKeyDown={onKeyDown}
      />
    </>
  );
}

function Conflict({ onReload, onOverwrite }: { readonly onReload: () => void; readonly onOverwrite: () => void }) {
  return (
    <div className="file-conflict" role="alert">
      <p>The file has changed in the sandbox since it was opened. Nothing was saved.</p>
      <Button isSmall onClick={onReload}>
        Discard mine and read it again
      </Button>
      <Button isSmall variant="danger" onClick={onOverwrite}>
        Save mine over it
      </Button>
    </div>
  );
}

function useDraft(path: string, { info, content }: TextEditorProps["preview"], onSaved: () => void) {
  const place = usePlace();
  const toast = useToast();
  const [saved, setSaved] = useState({ text: content.text, etag: info.etag });
  const [draft, setDraft] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const edit = (text: string | undefined): void => {
    setDraft(text === saved.text ? undefined : text);
    if (text === undefined) setError(undefined);
  };
  const write = async (options: { readonly only?: { readonly etag: string } }): Promise<void> => {
    if (draft === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      const etag = await putFile(place, path, new Blob([fileContent(draft, content)]), options);
      setSaved({ text: draft, etag });
      setDraft(undefined);
      toast.done(`"${shownName(nameOf(path))}" saved`);
      onSaved();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const save = (): Promise<void> => write({ only: { etag: saved.etag } });
  const overwrite = (): Promise<void> => write({});
  return { draft, saved, edit, save, overwrite, isBusy, error };
}
