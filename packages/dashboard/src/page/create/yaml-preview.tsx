import { useMemo } from "react";
import { stringify } from "yaml";
import { cleanLines } from "../components/clean-text.ts";
import { CopyButton } from "../components/command.tsx";

/** The YAML of objects, read-only. */
export function YamlPreview({ objects }: { readonly objects: readonly object[] }) {
  const text = useMemo(() => objects.map((object) => stringify(object, { lineWidth: 0 })).join("---\n"), [objects]);
  return (
    <figure className="yaml" aria-label="YAML">
      <figcaption>
        YAML
        <CopyButton text={text} label="Copy YAML" />
      </figcaption>
      {/* biome-ignore lint: a scrolling area needs the focus of the keyboard. */}
      <pre tabIndex={0}>{cleanLines(text)}</pre>
    </figure>
  );
}
