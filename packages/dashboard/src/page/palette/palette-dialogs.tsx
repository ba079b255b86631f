/** The dialog that a command of the palette opens. */
import { cleanText } from "../components/clean-text.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { useToast } from "../components/toast.tsx";
import CreateDialog from "../create/create-dialog.tsx";
import StartDialog from "../create/start-dialog.tsx";
import { useBackend } from "../data/backend.ts";
import type { PaletteDialog } from "./command.ts";

interface PaletteDialogsProps {
  readonly dialog: PaletteDialog;
  readonly onClose: () => void;
}

export default function PaletteDialogs({ dialog, onClose }: PaletteDialogsProps) {
  if (dialog.type === "create") return <CreateDialog form={dialog.form} initial={dialog.initial} onClose={onClose} />;
  if (dialog.type === "start") return <StartDialog template={dialog.template} templates={[]} onClose={onClose} />;
  return <Deletion dialog={dialog} onClose={onClose} />;
}

function Deletion({
  dialog: { resource, object, noun, note },
  onClose,
}: {
  readonly dialog: Extract<PaletteDialog, { type: "delete" }>;
  readonly onClose: () => void;
}) {
  const { api } = useBackend();
  const toast = useToast();
  const { namespace, name = "", uid } = object.metadata ?? {};
  const run = async (): Promise<void> => {
    await api.delete(resource, { namespace, name }, { uid });
    toast.done(`${resource.kind} "${name}" deleted`);
  };
  return (
    <ConfirmDialog title={`Delete ${noun} ${cleanText(name)}?`} action={`Delete ${noun}`} run={run} onClose={onClose}>
      <p>{note}</p>
    </ConfirmDialog>
  );
}
