/**
 * Shows a view that calls the runtime API of the sandbox, if that is possible now. Otherwise it says why not. Every call wakes a sandbox
 * that sleeps, so nothing is called before the user asks for it.
 */
import { type Sandbox, wakeBy } from "@agent-sandbox/api";
import { Boxes, Lock, Moon, Plug, Sunrise } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "../../components/button.tsx";
import { cleanText } from "../../components/clean-text.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Problem } from "../../components/problem.tsx";
import { Text } from "../../components/text.tsx";
import { useBackend } from "../../data/backend.ts";
import { sandboxes } from "../../data/resources.ts";
import { useCan } from "../../data/use-data.ts";
import { knownState } from "../../model/sandbox-state.ts";
import { hasRuntimeApi } from "../header/runtime-name.ts";
import { useSandbox } from "../sandbox-context.tsx";

interface RuntimeViewProps {
  /** A command for a terminal that does something similar. */
  readonly command: string;
  readonly children: ReactNode;
}

export function RuntimeView({ command, children }: RuntimeViewProps) {
  const { sandbox } = useSandbox();
  const { namespace = "" } = sandbox.metadata;
  const canConnect = useCan("connect", sandboxes, { namespace });
  const { state, why } = knownState(sandbox);
  const refusal = refusalOf({ canConnect, hasApi: hasRuntimeApi(sandbox), namespace });
  if (refusal !== undefined) {
    return (
      <div className="card">
        <EmptyState icon={canConnect ? Plug : Lock} title={refusal.title} command={command}>
          <Text of={refusal.why} />
        </EmptyState>
      </div>
    );
  }
  if (state === "running") return children;
  return (
    <div className="card">
      {state === "sleeping" ? (
        <Asleep sandbox={sandbox} />
      ) : (
        <EmptyState icon={Boxes} title="It does not run now">
          <Text of={why} />
        </EmptyState>
      )}
    </div>
  );
}

interface Facts {
  readonly canConnect: boolean;
  readonly hasApi: boolean;
  readonly namespace: string;
}

function refusalOf({ canConnect, hasApi, namespace }: Facts): { title: string; why: string } | undefined {
  if (!canConnect) {
    const why = `This needs the right to connect to sandboxes in the namespace ${namespace}.`;
    return { title: "You may not connect to this sandbox", why };
  }
  if (!hasApi) {
    const why = "Set spec.runtime to Injected to have sandboxd in it, and restart it. With the command line:";
    return { title: "This sandbox has no runtime API", why };
  }
  return undefined;
}

function Asleep({ sandbox }: { readonly sandbox: Sandbox }) {
  const { runtime } = useBackend();
  const { name = "", namespace = "" } = sandbox.metadata;
  const [isWaking, setWaking] = useState(false);
  const [error, setError] = useState<unknown>();
  const wake = async (): Promise<void> => {
    setWaking(true);
    setError(undefined);
    try {
      // The router holds the call until the sandbox runs.
      await (await runtime.sandbox({ namespace, name })).ports.list({ timeoutMs: wakeMs });
    } catch (failure) {
      setError(failure);
      setWaking(false);
    }
  };
  const canWake = wakeBy(sandbox) !== undefined;
  return (
    <EmptyState icon={Moon} title="It sleeps">
      {canWake ? "Opening this view has not woken it." : "Traffic does not wake it. Resume it to use it again."}
      {canWake && (
        <p className="wake">
          <Button icon={Sunrise} variant="primary" isBusy={isWaking} onClick={() => void wake()}>
            Wake {cleanText(name)}
          </Button>
        </p>
      )}
      <Problem error={error} />
    </EmptyState>
  );
}

const wakeMs = 120_000;
