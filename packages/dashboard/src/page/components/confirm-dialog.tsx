/** Asks before something that cannot be undone. It closes when `run` resolves; its error is shown in the dialog. */
import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./problem.tsx";

interface ConfirmDialogProps {
  readonly title: string;
  /** What happens. */
  readonly children: ReactNode;
  /** The text of the button. */
  readonly action: string;
  readonly variant?: "primary" | "danger";
  readonly run: () => Promise<void>;
  readonly onClose: () => void;
}

export function ConfirmDialog({ title, children, action, variant = "danger", run, onClose }: ConfirmDialogProps) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await run();
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const footer = (
    <>
      <Button variant="ghost" data-autofocus onClick={onClose}>
        Cancel
      </Button>
      <Button variant={variant} isBusy={isBusy} onClick={() => void confirm()}>
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} footer={footer}>
      {children}
      <Problem error={error} />
    </Dialog>
  );
}
