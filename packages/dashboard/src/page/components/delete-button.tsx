/** Deletes an object after a confirmation. Not shown to users who may not delete it. */
import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { useBackend } from "../data/backend.ts";
import type { KubeObject, Resource } from "../data/resources.ts";
import { useCan } from "../data/use-data.ts";
import { Button } from "./button.tsx";
import { cleanText } from "./clean-text.ts";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { useToast } from "./toast.tsx";

interface DeleteButtonProps<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly object: T;
  /** As in `pool`. */
  readonly noun: string;
  /** What else is deleted or stays. */
  readonly children: ReactNode;
  /** The page to show afterwards. */
  readonly next: string;
}

export function DeleteButton<T extends KubeObject>({ resource, object, noun, children, next }: DeleteButtonProps<T>) {
  const { namespace, name = "", uid } = object.metadata ?? {};
  const { api } = useBackend();
  const toast = useToast();
  const [, navigate] = useLocation();
  const [isOpen, setOpen] = useState(false);
  if (!useCan("delete", resource, { namespace })) return null;
  const run = async (): Promise<void> => {
    const shown = location.pathname;
    await api.delete(resource, { namespace, name }, { uid });
    toast.done(`${resource.kind} "${name}" deleted`);
    if (location.pathname === shown) navigate(next);
  };
  return (
    <>
      <Button variant="danger" icon={Trash2} onClick={() => setOpen(true)}>
        Delete
      </Button>
      {isOpen && (
        <ConfirmDialog
          title={`Delete ${noun} ${cleanText(name)}?`}
          action={`Delete ${noun}`}
          run={run}
          onClose={() => setOpen(false)}
        >
          <p>{children}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
