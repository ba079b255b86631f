import type { Sandbox } from "@agent-sandbox/api";
import { knownState, titleOfState, toneOfState } from "../model/sandbox-state.ts";
import { Badge } from "./badge.tsx";

export function StateBadge({ sandbox }: { readonly sandbox: Sandbox }) {
  const { state } = knownState(sandbox);
  return (
    <Badge tone={toneOfState[state]} hasDot>
      {titleOfState[state]}
    </Badge>
  );
}
