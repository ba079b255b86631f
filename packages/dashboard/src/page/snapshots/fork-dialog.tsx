/** Starts another sandbox from a snapshot. Shows the object that it creates. */
import type { Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import { type FormEvent, useId, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Problem } from "../components/problem.tsx";
import { useToast } from "../components/toast.tsx";
import { freshName } from "../create/manifests.ts";
import { YamlPreview } from "../create/yaml-preview.tsx";
import { useBackend } from "../data/backend.ts";
import { sandboxes } from "../data/resources.ts";
import { hrefIn } from "../model/links.ts";
import { forkOf } from "../model/snapshot-state.ts";

interface ForkDialogProps {
  readonly snapshot: SandboxSnapshot;
  readonly source: Sandbox;
  readonly onClose: () => void;
}

export function ForkDialog({ snapshot, source, onClose }: ForkDialogProps) {
  const { api } = useBackend();
  const toast = useToast();
  const [, navigate] = useLocation();
  const id = useId();
  const [name, setName] = useState(() => freshName(source.metadata.name ?? "fork"));
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const fork = useMemo(
    () => forkOf(source, { name, snapshot: snapshot.metadata.name ?? "" }),
    [source, snapshot, name],
  );
  const create = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const { metadata } = await api.create(sandboxes, fork);
      toast.done(`Sandbox "${metadata.name}" created from the snapshot`);
      onClose();
      navigate(hrefIn("sandboxes", metadata));
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
      <Button variant="primary" type="submit" form={id} isBusy={isBusy}>
        Start fork
      </Button>
    </>
  );
  return (
    <Dialog title="Fork from this snapshot" onClose={onClose} footer={footer}>
      <form id={id} onSubmit={(event) => void create(event)}>
        <label className="field">
          <span>Name of the new sandbox</span>
          <input className="input" required value={name} onChange={(event) => setName(event.target.value)} />
        </label>
      </form>
      <YamlPreview objects={[fork]} />
      <Problem error={error} />
    </Dialog>
  );
}
