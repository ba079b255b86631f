/** A form that shows the YAML it will apply. The server validates it before anything is created. Loaded when it is opened. */
import { type FormEvent, useId, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Problem } from "../components/problem.tsx";
import { useToast } from "../components/toast.tsx";
import { useBackend } from "../data/backend.ts";
import type { KubeObject } from "../data/resources.ts";
import { useScope } from "../shell/scope.tsx";
import { FieldInput } from "./field-input.tsx";
import type { Form } from "./forms.ts";
import { freshName, type Values } from "./manifests.ts";
import { YamlPreview } from "./yaml-preview.tsx";

interface CreateDialogProps {
  readonly form: Form;
  /** Texts that the form begins with. */
  readonly initial?: Values | undefined;
  readonly onClose: () => void;
}

export default function CreateDialog({ form, initial, onClose }: CreateDialogProps) {
  const { home } = useScope();
  const [values, setValues] = useState<Values>(() => ({
    name: freshName(form.prefix),
    namespace: home,
    ...Object.fromEntries(form.fields.map(({ id, initial: text = "" }) => [id, text])),
    ...initial,
  }));
  const object = useMemo(() => form.build(values), [form, values]);
  const id = useId();
  const { create, error, isBusy } = useCreate(form, onClose);
  const footer = (
    <>
      <Button variant="ghost" onClick={onClose}>
        Cancel
      </Button>
      <Button variant="primary" type="submit" form={id} isBusy={isBusy}>
        {form.action}
      </Button>
    </>
  );
  return (
    <Dialog title={form.title} onClose={onClose} isWide footer={footer}>
      <div className="create">
        <form id={id} className="create-form" onSubmit={(event) => void create(event, object)}>
          {[nameField, namespaceField, ...form.fields].map((field) => (
            <FieldInput
              key={field.id}
              field={field}
              namespace={values["namespace"] ?? home}
              value={values[field.id] ?? ""}
              onChange={(text) => setValues((old) => ({ ...old, [field.id]: text }))}
            />
          ))}
        </form>
        <YamlPreview objects={[object]} />
      </div>
      <Problem error={error} />
    </Dialog>
  );
}

const nameField = { id: "name", label: "Name", isRequired: true } as const;
const namespaceField = { id: "namespace", label: "Namespace", isRequired: true } as const;

function useCreate(form: Form, onClose: () => void) {
  const { api } = useBackend();
  const toast = useToast();
  const [, navigate] = useLocation();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const create = async (event: FormEvent, object: KubeObject): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const { metadata: { namespace = "", name = "" } = {} } = await api.create(form.resource, object);
      toast.done(`${form.resource.kind} "${name}" created`);
      onClose();
      navigate(`/${form.folder}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return { create, error, isBusy };
}
