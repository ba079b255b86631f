/** Rolls a sandbox back to a snapshot, in steps that it shows: suspend, wait, resume from the snapshot. */
import type { Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import { useState } from "react";
import { useLocation } from "wouter";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { Text } from "../components/text.tsx";
import { useToast } from "../components/toast.tsx";
import { useBackend } from "../data/backend.ts";
import { hrefIn } from "../model/links.ts";
import { restoreSandbox } from "./restore-sandbox.ts";

interface RestoreDialogProps {
  readonly snapshot: SandboxSnapshot;
  readonly source: Sandbox;
  readonly onClose: () => void;
}

export function RestoreDialog({ snapshot, source, onClose }: RestoreDialogProps) {
  const { api } = useBackend();
  const toast = useToast();
  const [, navigate] = useLocation();
  const [step, setStep] = useState<string>();
  const { namespace, name = "" } = source.metadata;
  const run = async (): Promise<void> => {
    try {
      await restoreSandbox(api, { namespace, name, snapshot: snapshot.metadata.name ?? "" }, setStep);
    } finally {
      setStep(undefined);
    }
    toast.done(`Sandbox "${name}" continues from the snapshot`);
    navigate(hrefIn("sandboxes", { namespace, name }));
  };
  return (
    <ConfirmDialog title="Restore this snapshot?" action="Restore" run={run} onClose={onClose}>
      <p>
        The sandbox <strong>{<Text of={name} />}</strong> goes back to the state of this snapshot. What its files, its
        volumes and its memory contain now is lost. Take a snapshot first to keep it.
      </p>
      <p className="faint" role="status">
        {step === undefined ? "The sandbox is suspended for a moment." : `${step} Keep this page open.`}
      </p>
    </ConfirmDialog>
  );
}
