/** One image: its names, and the sandboxes and templates that use it. */
import type { Sandbox, SandboxTemplate } from "@agent-sandbox/api";
import { cleanText } from "../components/clean-text.ts";
import { Dialog } from "../components/dialog.tsx";
import { Facts } from "../components/facts.tsx";
import { formatBytes } from "../components/format.ts";
import { ObjectLink } from "../components/object-link.tsx";
import { Text } from "../components/text.tsx";
import { CreateButton } from "../create/create-buttons.tsx";
import { sandboxForm, templateForm } from "../create/forms.ts";
import { keyOf } from "../data/resources.ts";
import type { ImageRow } from "../model/image-use.ts";
import type { Folder } from "../model/links.ts";

const mostListed = 20;

export function ImageDialog({ image, onClose }: { readonly image: ImageRow; readonly onClose: () => void }) {
  const { name, names, sizeBytes, nodes, sandboxes, templates } = image;
  const footer = (
    <>
      <CreateButton form={templateForm} initial={{ image: name }} variant="secondary" />
      <CreateButton form={sandboxForm} initial={{ image: name }} />
    </>
  );
  return (
    <Dialog title={cleanText(name)} onClose={onClose} footer={footer} isWide>
      <Facts
        facts={[
          { title: "Size", value: sizeBytes === undefined ? undefined : formatBytes(sizeBytes) },
          { title: "Machine", value: <Text of={nodes.join(", ") || "none reports it"} /> },
          { title: "Sandboxes", value: <Users folder="sandboxes" objects={sandboxes} /> },
          { title: "Templates", value: <Users folder="templates" objects={templates} /> },
        ]}
      />
      <ul className="image-names" aria-label="Names">
        {names.map((one) => (
          <li key={one} className="mono soft">
            <Text of={one} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function Users({
  folder,
  objects,
}: {
  readonly folder: Folder;
  readonly objects: readonly (Sandbox | SandboxTemplate)[];
}) {
  if (objects.length === 0) return "none";
  return (
    <ul className="plain">
      {objects.slice(0, mostListed).map((object) => (
        <li key={keyOf(object)}>
          <ObjectLink folder={folder} namespace={object.metadata.namespace} name={object.metadata.name} hasNamespace />
        </li>
      ))}
      {objects.length > mostListed && <li className="faint">and {objects.length - mostListed} more</li>}
    </ul>
  );
}
