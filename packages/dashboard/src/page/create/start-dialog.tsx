/** Starts a sandbox from a template: the second click of two. Shows the claim that it creates. */
import type { SandboxClaim, SandboxTemplate } from "@agent-sandbox/api";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../components/button.tsx";
import { cleanText } from "../components/clean-text.ts";
import { Dialog } from "../components/dialog.tsx";
import { Problem } from "../components/problem.tsx";
import { useToast } from "../components/toast.tsx";
import type { ApiClient } from "../data/api-client.ts";
import { ApiError } from "../data/api-client.ts";
import { useBackend } from "../data/backend.ts";
import { keyOf, sandboxClaims, sandboxWarmPools } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { freshName, startOf } from "./manifests.ts";
import { YamlPreview } from "./yaml-preview.tsx";

interface StartDialogProps {
  readonly template: SandboxTemplate | undefined;
  readonly templates: readonly SandboxTemplate[];
  readonly onClose: () => void;
}

export default function StartDialog({ template, templates, onClose }: StartDialogProps) {
  const [chosen, setChosen] = useState(() => template ?? templates[0]);
  const [suffix] = useState(() => freshName("").slice(1));
  const { items: pools, state } = useList(sandboxWarmPools, chosen?.metadata.namespace);
  const name = `${chosen?.metadata.name}-${suffix}`;
  const start = useMemo(() => (chosen === undefined ? undefined : startOf(chosen, pools, name)), [chosen, pools, name]);
  const { run, isBusy, error } = useStart(start, onClose);
  const footer = (
    <>
      <Button variant="ghost" onClick={onClose}>
        Cancel
      </Button>
      <Button
        variant="primary"
        isBusy={isBusy}
        disabled={state === "loading"}
        data-autofocus
        onClick={() => void run()}
      >
        Start sandbox
      </Button>
    </>
  );
  return (
    <Dialog title="Start a sandbox from a template" onClose={onClose} footer={footer}>
      {template === undefined && (
        <label className="field">
          <span>Template</span>
          <select
            className="input"
            value={chosen === undefined ? "" : keyOf(chosen)}
            onChange={(event) => setChosen(templates.find((one) => keyOf(one) === event.target.value))}
          >
            {templates.map((one) => (
              <option key={keyOf(one)} value={keyOf(one)}>
                {cleanText(`${one.metadata.name} (${one.metadata.namespace})`)}
              </option>
            ))}
          </select>
        </label>
      )}
      {start !== undefined && (
        <YamlPreview objects={start.pool === undefined ? [start.claim] : [start.pool, start.claim]} />
      )}
      <Problem error={error} />
    </Dialog>
  );
}

function useStart(start: ReturnType<typeof startOf> | undefined, onClose: () => void) {
  const { api } = useBackend();
  const toast = useToast();
  const [, navigate] = useLocation();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (): Promise<void> => {
    if (start === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      if (start.pool !== undefined) await api.create(sandboxWarmPools, start.pool).catch(ignoreExisting);
      const claim = await api.create(sandboxClaims, start.claim);
      const { namespace = "", name = "" } = claim.metadata;
      const sandbox = await boundSandbox(api, claim);
      toast.done(sandbox === undefined ? `Claim "${name}" created` : `Sandbox "${sandbox}" started`);
      onClose();
      const page = sandbox === undefined ? `claims/${namespace}/${name}` : `sandboxes/${namespace}/${sandbox}`;
      navigate(`/${page}`);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return { run, isBusy, error };
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
}

const tries = 20;
const everyMs = 250;

/** The sandbox of a new claim. Undefined: it takes longer, and the page of the claim shows it. */
async function boundSandbox(api: ApiClient, { metadata }: SandboxClaim): Promise<string | undefined> {
  const { namespace, name = "" } = metadata;
  for (let attempt = 0; attempt < tries; attempt++) {
    const { status } = await api.get(sandboxClaims, { namespace, name });
    if (status?.sandbox?.name) return status.sandbox.name;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  return undefined;
}
