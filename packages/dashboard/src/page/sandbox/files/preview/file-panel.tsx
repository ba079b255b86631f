/** The file that is open: a text that can be edited, an image, or why it is not shown. */
import { Download, FileQuestion, X } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "../../../components/button.tsx";
import { EmptyState } from "../../../components/empty-state.tsx";
import { formatBytes } from "../../../components/format.ts";
import { Problem } from "../../../components/problem.tsx";
import { Text } from "../../../components/text.tsx";
import { nameOf, shownName } from "../folder/file-path.ts";
import { permissionsOf } from "../folder/list-folder.ts";
import type { Preview } from "./read-preview.ts";
import { TextEditor } from "./text-editor.tsx";
import { usePreview } from "./use-preview.ts";

interface FilePanelProps {
  readonly path: string;
  readonly onChanged: (isChanged: boolean) => void;
  readonly onSaved: () => void;
  readonly onDownload: () => void;
  readonly onClose: () => void;
}

export function FilePanel({ path, onChanged, onSaved, onDownload, onClose }: FilePanelProps) {
  const [version, setVersion] = useState(0);
  const { preview, error } = usePreview(path, version);
  const name = shownName(nameOf(path));
  return (
    <section className="card file-panel" aria-label={`File ${name}`}>
      <header className="card-head file-head">
        <div className="file-title">
          <h2 title={name}>
            <Text of={name} />
          </h2>
          <span className="faint small">{preview !== undefined && <Text of={describe(preview)} />}</span>
        </div>
        <IconButton icon={Download} label="Download this file" onClick={onDownload} />
        <IconButton icon={X} label="Close the file" onClick={onClose} />
      </header>
      <Problem error={error} />
      {preview === undefined && error === undefined && (
        <div className="loading" role="status">
          <span className="spinner" aria-hidden />
          <span className="visually-hidden">Reading the file</span>
        </div>
      )}
      {preview?.kind === "text" && (
        <TextEditor
          key={version}
          path={path}
          preview={preview}
          onChanged={onChanged}
          onSaved={onSaved}
          onReload={() => setVersion(version + 1)}
        />
      )}
      {preview?.kind === "image" && <Image image={preview.image} label={name} />}
      {preview?.kind === "none" && (
        <EmptyState icon={FileQuestion} title="No preview">
          <Text of={preview.why} />
        </EmptyState>
      )}
    </section>
  );
}

function describe(preview: Preview): string {
  const { size, mode } = preview.info;
  const parts = [formatBytes(size), permissionsOf(mode), ...(preview.kind === "image" ? [preview.size] : [])];
  return parts.join(" · ");
}

/** The blob has the type of an image, so nothing in it can run: not here, and not in a tab of its own. */
function Image({ image, label }: { readonly image: Blob; readonly label: string }) {
  const [url, setUrl] = useState<string>();
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(image);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [image]);
  if (isBroken) {
    return (
      <EmptyState icon={FileQuestion} title="No preview">
        The browser cannot read this image
      </EmptyState>
    );
  }
  return (
    <div className="file-image">
      {url !== undefined && <img src={url} alt={`Preview of ${label}`} onError={() => setBroken(true)} />}
    </div>
  );
}
