/** How many sandboxes are in each state. A tile filters the list by its state. */
import type { Sandbox } from "@agent-sandbox/api";
import { useMemo } from "react";
import { countStates, type SandboxState, titleOfState, toneOfState } from "../model/sandbox-state.ts";

const always: readonly SandboxState[] = ["running", "sleeping", "starting", "failed"];
const ifAny: readonly SandboxState[] = ["finished", "stopping"];

interface StateTilesProps {
  readonly items: readonly Sandbox[];
  readonly chosen: SandboxState | undefined;
  readonly onChoose: (state: SandboxState | undefined) => void;
}

export function StateTiles({ items, chosen, onChoose }: StateTilesProps) {
  const counts = useMemo(() => countStates(items), [items]);
  const shown = [...always, ...ifAny.filter((state) => counts[state] > 0 || chosen === state)];
  return (
    <div className="tiles" role="group" aria-label="Sandboxes by state">
      {shown.map((state) => (
        <button
          key={state}
          type="button"
          className={`tile tile-${toneOfState[state]}`}
          aria-pressed={chosen === state}
          onClick={() => onChoose(chosen === state ? undefined : state)}
        >
          <span className="tile-title">
            <span className="dot" aria-hidden />
            {titleOfState[state]}
          </span>
          <span className={counts[state] === 0 ? "tile-count tile-zero" : "tile-count"}>{counts[state]}</span>
        </button>
      ))}
    </div>
  );
}
