/** The first page: what runs, why something does not, and what happens. */
import { PageHeader } from "../components/page-header.tsx";
import { NewSandboxButton, StartFromTemplateButton } from "../create/create-buttons.tsx";
import { sandboxes } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { EventStream } from "../events/event-stream.tsx";
import { SandboxList, useStateFilter } from "../sandboxes/sandbox-list.tsx";
import { StateTiles } from "../sandboxes/state-tiles.tsx";
import { useScope } from "../shell/scope.tsx";
import { PoolList } from "./pool-list.tsx";
import { StatCards } from "./stat-cards.tsx";

export function OverviewPage() {
  const { namespace } = useScope();
  const list = useList(sandboxes, namespace);
  const [state, setState] = useStateFilter();
  return (
    <>
      <PageHeader title="Overview" subtitle={namespace === undefined ? "All namespaces" : `Namespace ${namespace}`}>
        <StartFromTemplateButton />
        <NewSandboxButton />
      </PageHeader>
      <StateTiles items={list.items} chosen={state} onChoose={setState} />
      <StatCards />
      <SandboxList list={list} maxHeight="522px" />
      <div className="columns">
        <PoolList />
        <EventStream />
      </div>
    </>
  );
}
