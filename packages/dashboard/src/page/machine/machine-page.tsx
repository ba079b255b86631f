/** The machine of a box, or the nodes of a cluster: what they support, how full they are, and what happened since the page was opened. */
import { HardDrive, Lock } from "lucide-react";
import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { EmptyState } from "../components/empty-state.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { StaleNote } from "../components/stale-note.tsx";
import { Text } from "../components/text.tsx";
import { nodes } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { NodeDetails } from "./node-details.tsx";
import { NodeList } from "./node-list.tsx";
import { Plots } from "./plots.tsx";

export default function MachinePage() {
  const { items, state, since, error } = useList(nodes);
  const [params, setParams] = useSearchParams();
  const all = useMemo(
    () => items.toSorted((a, b) => ((a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1)),
    [items],
  );
  const shown = all.find(({ metadata }) => metadata?.name === params.get("node")) ?? all[0];
  const subtitle = all.length > 1 ? `${all.length} nodes` : "What it supports, and how full it is";
  return (
    <>
      <PageHeader title="Machine" subtitle={subtitle}>
        <StaleNote state={state} since={since} />
      </PageHeader>
      <div className="stack">
        {shown !== undefined && <Plots />}
        {all.length > 1 && (
          <NodeList
            nodes={all}
            shown={shown?.metadata?.name}
            onShow={(name) => setParams({ node: name }, { replace: true })}
          />
        )}
        {shown !== undefined && <NodeDetails key={shown.metadata?.name} node={shown} />}
      </div>
      {shown === undefined && state === "loading" && (
        <div className="loading" role="status">
          <span className="spinner" aria-hidden />
          <span className="visually-hidden">Loading the nodes</span>
        </div>
      )}
      {shown === undefined && state !== "loading" && (
        <div className="card">
          {state === "refused" ? (
            <EmptyState icon={Lock} title="You may not read nodes">
              <Text of={error?.message} />
            </EmptyState>
          ) : (
            <EmptyState icon={HardDrive} title="No node has registered yet" command="agent-sandbox doctor">
              Sandboxes wait until a node runs them.
            </EmptyState>
          )}
        </div>
      )}
    </>
  );
}
