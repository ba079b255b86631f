/** Changes how many members a pool keeps ready. Not shown to users who may not. */
import type { SandboxWarmPool } from "@agent-sandbox/api";
import { Minus, Plus } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { Button, IconButton } from "../components/button.tsx";
import { useToast } from "../components/toast.tsx";
import { useBackend } from "../data/backend.ts";
import { sandboxWarmPools } from "../data/resources.ts";
import { useCan } from "../data/use-data.ts";
import { mostMembers, parseMembers } from "../model/pool-size.ts";

const scale = { ...sandboxWarmPools, kind: "Scale" } as const;

export function ScalePool({ pool }: { readonly pool: SandboxWarmPool }) {
  const { namespace, name = "" } = pool.metadata;
  const wanted = pool.spec.replicas ?? 1;
  const [text, setText] = useState(String(wanted));
  const [isBusy, setBusy] = useState(false);
  const { api } = useBackend();
  const toast = useToast();
  // Somebody else may scale it meanwhile.
  useEffect(() => setText(String(wanted)), [wanted]);
  if (!useCan("patch", sandboxWarmPools, { namespace, subresource: "scale" })) return null;
  const count = parseMembers(text);
  const step = (by: number): void => setText(String(Math.min(mostMembers, Math.max(0, (count ?? wanted) + by))));
  const apply = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (count === undefined) return;
    setBusy(true);
    try {
      await api.patch(scale, { namespace, name, subresource: "scale" }, { spec: { replicas: count } });
      toast.done(`Pool "${name}" scaled to ${count}`);
    } catch (error) {
      toast.failed(`Cannot scale pool "${name}"`, error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="scale" aria-label="Scale" onSubmit={(event) => void apply(event)}>
      <IconButton icon={Minus} label="One member less" disabled={count === 0} onClick={() => step(-1)} />
      <input
        className="input scale-count"
        aria-label="Members to keep ready"
        aria-invalid={count === undefined}
        inputMode="numeric"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <IconButton icon={Plus} label="One member more" disabled={count === mostMembers} onClick={() => step(1)} />
      <Button variant="primary" type="submit" isBusy={isBusy} disabled={count === undefined || count === wanted}>
        Scale
      </Button>
    </form>
  );
}
