/** Asks for the name of a new folder or file, or a new name. */
import { type FormEvent, useId, useState } from "react";
import { Button } from "../../../components/button.tsx";
import { Dialog } from "../../../components/dialog.tsx";
import { Problem } from "../../../components/problem.tsx";
import { nameProblem } from "./file-path.ts";

interface NameDialogProps {
  readonly title: string;
  /** The text of the button. */
  readonly action: string;
  readonly initial?: string;
  readonly run: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

export function NameDialog({ title, action, initial = "", run, onClose }: NameDialogProps) {
  const [name, setName] = useState(initial);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const form = useId();
  const problem = nameProblem(name);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (problem !== undefined || name === initial) return;
    setBusy(true);
    setError(undefined);
    try {
      await run(name);
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const footer = (
    <>
      <Button variant="ghost" onClick={onClose}>
        Cancel
      </Button>
      <Button
        type="submit"
        form={form}
        variant="primary"
        isBusy={isBusy}
        disabled={problem !== undefined || name === initial}
      >
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} footer={footer}>
      <form id={form} onSubmit={(event) => void submit(event)}>
        <label className="field">
          <span>Name</span>
          <input
            className="input mono"
            autoComplete="off"
            spellCheck={false}
            value={name}
            aria-invalid={name !== "" && problem !== undefined}
            onChange={({ target }) => setName(target.value)}
          />
          <span className="hint">{name === "" ? "" : problem}</span>
        </label>
      </form>
      <Problem error={error} />
    </Dialog>
  );
}
