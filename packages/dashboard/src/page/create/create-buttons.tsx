/** Buttons that open the forms. They are not shown to users who may not create such objects. The forms are loaded when they open. */
import type { SandboxTemplate } from "@agent-sandbox/api";
import { Play, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "../components/button.tsx";
import { cleanText } from "../components/clean-text.ts";
import { sandboxClaims, sandboxTemplates } from "../data/resources.ts";
import { tryAgain } from "../data/try-again.ts";
import { useCan, useList } from "../data/use-data.ts";
import { useScope } from "../shell/scope.tsx";
import { claimForm, type Form, poolForm, sandboxForm, snapshotForm, templateForm } from "./forms.ts";
import type { Values } from "./manifests.ts";

const CreateDialog = lazy(() => tryAgain(() => import("./create-dialog.tsx")));
const StartDialog = lazy(() => tryAgain(() => import("./start-dialog.tsx")));

interface CreateButtonProps {
  readonly form: Form;
  readonly label?: string;
  readonly initial?: Values;
  readonly variant?: "primary" | "secondary";
}

export function CreateButton({ form, label, initial, variant = "primary" }: CreateButtonProps) {
  const { home } = useScope();
  const [isOpen, setOpen] = useState(false);
  if (!useCan("create", form.resource, { namespace: initial?.["namespace"] ?? home })) return null;
  return (
    <>
      <Button variant={variant} icon={Plus} onClick={() => setOpen(true)}>
        {label ?? form.title}
      </Button>
      {isOpen && (
        <Suspense>
          <CreateDialog form={form} initial={initial} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

export const NewSandboxButton = () => <CreateButton form={sandboxForm} />;
export const NewTemplateButton = () => <CreateButton form={templateForm} />;
export const NewPoolButton = ({ initial }: { readonly initial?: Values }) => (
  <CreateButton form={poolForm} label="New pool" {...(initial && { initial, variant: "secondary" as const })} />
);
export const NewClaimButton = ({ initial }: { readonly initial?: Values }) => (
  <CreateButton form={claimForm} {...(initial && { initial, variant: "secondary" as const })} />
);
export const NewSnapshotButton = () => <CreateButton form={snapshotForm} />;

/** Starts a sandbox from this template, or from one that the user chooses. */
export function StartFromTemplateButton({
  template,
  variant = "secondary",
  isSmall,
}: {
  readonly template?: SandboxTemplate;
  readonly variant?: "primary" | "secondary";
  readonly isSmall?: boolean;
}) {
  const { home, namespace } = useScope();
  const [isOpen, setOpen] = useState(false);
  const isAllowed = useCan("create", sandboxClaims, { namespace: template?.metadata.namespace ?? home });
  const { items } = useList(template === undefined ? sandboxTemplates : undefined, namespace);
  if (!isAllowed || (template === undefined && items.length === 0)) return null;
  return (
    <>
      <Button
        variant={variant}
        icon={Play}
        {...(isSmall === true && { isSmall })}
        {...(template !== undefined && {
          "aria-label": `Start sandbox from ${cleanText(template.metadata.name ?? "")}`,
        })}
        onClick={() => setOpen(true)}
      >
        {template === undefined ? "Start from template" : isSmall === true ? "Start" : "Start sandbox"}
      </Button>
      {isOpen && (
        <Suspense>
          <StartDialog template={template} templates={items} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
