/** The live list of sandboxes with its tiles. Used by the overview and by the page of sandboxes. */
import type { Sandbox } from "@agent-sandbox/api";
import { Boxes } from "lucide-react";
import { useCallback } from "react";
import { useSearchParams } from "wouter";
import { EmptyState } from "../components/empty-state.tsx";
import { ListView } from "../components/list-page.tsx";
import type { Snapshot } from "../data/list-store.ts";
import { knownState, type SandboxState, sandboxStates } from "../model/sandbox-state.ts";
import { columnsFor, hrefOfSandbox, sandboxSortKeys, searchableSandbox } from "./sandbox-columns.tsx";

/** The state that the address names. */
export function useStateFilter(): readonly [SandboxState | undefined, (state: SandboxState | undefined) => void] {
  const [params, setParams] = useSearchParams();
  const state = sandboxStates.find((one) => one === params.get("state"));
  const choose = (next: SandboxState | undefined): void =>
    setParams(
      (old) => {
        const changed = new URLSearchParams(old);
        if (next === undefined) changed.delete("state");
        else changed.set("state", next);
        return changed;
      },
      { replace: true },
    );
  return [state, choose];
}

export function SandboxList({ list, maxHeight }: { readonly list: Snapshot<Sandbox>; readonly maxHeight?: string }) {
  const [state] = useStateFilter();
  const filter = useCallback((item: Sandbox) => state === undefined || knownState(item).state === state, [state]);
  return (
    <ListView
      noun="sandboxes"
      list={list}
      columns={columnsFor(list.items)}
      sortKeys={sandboxSortKeys}
      firstSort="age"
      searchable={searchableSandbox}
      hrefOf={hrefOfSandbox}
      filter={filter}
      {...(maxHeight !== undefined && { maxHeight })}
      empty={
        <EmptyState icon={Boxes} title="No sandboxes yet" command="agent-sandbox create my-sandbox">
          A sandbox is an isolated machine for code that you do not trust. Create the first one here or in a terminal.
        </EmptyState>
      }
    />
  );
}
