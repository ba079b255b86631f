import { useMemo } from "react";
import { stringify } from "yaml";
import { cleanLines } from "../components/clean-text.ts";
import { CopyButton } from "../components/command.tsx";
import type { KubeObject } from "../data/resources.ts";

/** The YAML of objects, read-only. Who wrote which field is left out. */
export function YamlPreview({ objects }: { readonly objects: readonly KubeObject[] }) {
  const text = useMemo(
    () => objects.map((object) => stringify(shownPart(object), { lineWidth: 0 })).join("---\n"),
    [objects],
  );
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

function shownPart(object: KubeObject): object {
  if (object.metadata?.managedFields === undefined) return object;
  const { managedFields: _written, ...metadata } = object.metadata;
  return { ...object, metadata };
}
