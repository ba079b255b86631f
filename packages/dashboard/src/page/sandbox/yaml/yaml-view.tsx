/** The object as YAML. Changes are tried on the server before they are applied, and shown as a difference. */
import type { Sandbox } from "@agent-sandbox/api";
import { RotateCcw, Save } from "lucide-react";
import { useMemo, useState } from "react";
import { Button } from "../../components/button.tsx";
import { cleanLines } from "../../components/clean-text.ts";
import { CopyButton } from "../../components/command.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Problem } from "../../components/problem.tsx";
import { useToast } from "../../components/toast.tsx";
import { useBackend } from "../../data/backend.ts";
import { sandboxes } from "../../data/resources.ts";
import { useCan } from "../../data/use-data.ts";
import { useSandbox } from "../sandbox-context.tsx";
import { DiffView } from "./diff-view.tsx";
import { type Edited, readEdit, whyLocked, yamlOf } from "./manifest.ts";

export default function YamlView() {
  const { sandbox } = useSandbox();
  const { namespace } = sandbox.metadata;
  const canChange = useCan("patch", sandboxes, { namespace });
  const [hasStatus, setStatus] = useState(false);
  const present = useMemo(() => yamlOf(sandbox, hasStatus), [sandbox, hasStatus]);
  const locked = useMemo(() => whyLocked(sandbox), [sandbox]);
  const canEdit = canChange && !hasStatus && locked === undefined;
  const [draft, setDraft] = useState<{ readonly text: string; readonly base: Sandbox }>();
  const [review, setReview] = useState<{ readonly edited: Edited; readonly result: Sandbox }>();
  const { check, apply, isBusy, error } = useEdit(sandbox, setReview, () => {
    setDraft(undefined);
    setReview(undefined);
  });
  const isStale = draft !== undefined && yamlOf(draft.base, false) !== yamlOf(sandbox, false);
  return (
    <section className="card yaml-editor" aria-label="YAML of the sandbox">
      <div className="list-bar">
        <StatusSwitch isOn={hasStatus} isDisabled={draft !== undefined} onChange={setStatus} />
        <span className="faint small" role="status">
          {canChange && locked}
        </span>
        <span className="space" />
        {canChange && locked !== undefined && <span className="badge">Read only</span>}
        {isStale && <span className="badge tone-busy">Somebody changed the object meanwhile</span>}
        <CopyButton text={draft?.text ?? present} label="Copy YAML" />
        {canChange && (locked === undefined || draft !== undefined) && (
          <EditButtons
            isChanged={draft !== undefined}
            isBusy={isBusy}
            onDiscard={() => setDraft(undefined)}
            onReview={() => draft && void check(draft.text, draft.base)}
          />
        )}
      </div>
      <Problem error={error} />
      <textarea
        className="code-editor"
        aria-label="YAML"
        spellCheck={false}
        readOnly={draft === undefined && !canEdit}
        value={draft?.text ?? cleanLines(present)}
        onChange={(event) => setDraft({ text: event.target.value, base: draft?.base ?? sandbox })}
      />
      {review !== undefined && (
        <ReviewDialog
          before={sandbox}
          after={review.result}
          error={error}
          isBusy={isBusy}
          onApply={() => void apply(review.edited)}
          onClose={() => setReview(undefined)}
        />
      )}
    </section>
  );
}

interface StatusSwitchProps {
  readonly isOn: boolean;
  readonly isDisabled: boolean;
  readonly onChange: (isOn: boolean) => void;
}

function StatusSwitch({ isOn, isDisabled, onChange }: StatusSwitchProps) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={isOn}
        disabled={isDisabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      Status and managed fields
    </label>
  );
}

interface EditButtonsProps {
  readonly isChanged: boolean;
  readonly isBusy: boolean;
  readonly onDiscard: () => void;
  readonly onReview: () => void;
}

function EditButtons({ isChanged, isBusy, onDiscard, onReview }: EditButtonsProps) {
  return (
    <>
      {isChanged && (
        <Button variant="ghost" icon={RotateCcw} onClick={onDiscard}>
          Discard
        </Button>
      )}
      <Button variant="primary" icon={Save} isBusy={isBusy} disabled={!isChanged} onClick={onReview}>
        Review changes
      </Button>
    </>
  );
}

interface ReviewDialogProps {
  readonly before: Sandbox;
  readonly after: Sandbox;
  readonly error: unknown;
  readonly isBusy: boolean;
  readonly onApply: () => void;
  readonly onClose: () => void;
}

function ReviewDialog({ before, after, error, isBusy, onApply, onClose }: ReviewDialogProps) {
  const footer = (
    <>
      <Button variant="ghost" onClick={onClose}>
        Back to the editor
      </Button>
      <Button variant="primary" isBusy={isBusy} autoFocus onClick={onApply}>
        Apply
      </Button>
    </>
  );
  return (
    <Dialog title="Apply these changes?" isWide onClose={onClose} footer={footer}>
      <p className="soft">The server accepts the changes. This is what becomes of the object, with defaults.</p>
      <DiffView before={yamlOf(before, false)} after={yamlOf(after, false)} />
      <Problem error={error} />
    </Dialog>
  );
}

function useEdit(
  sandbox: Sandbox,
  onChecked: (review: { readonly edited: Edited; readonly result: Sandbox }) => void,
  onApplied: () => void,
) {
  const { api } = useBackend();
  const toast = useToast();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const { namespace, name = "" } = sandbox.metadata;
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const check = (text: string, base: Sandbox): Promise<void> =>
    attempt(async () => {
      const edited = readEdit(text, base);
      onChecked({ edited, result: await api.patch(sandboxes, { namespace, name }, edited.patch, { dryRun: true }) });
    });
  const apply = ({ patch }: Edited): Promise<void> =>
    attempt(async () => {
      await api.patch(sandboxes, { namespace, name }, patch);
      toast.done(`"${name}" changed`);
      onApplied();
    });
  return { check, apply, isBusy, error };
}
