import { PageHeader } from "../components/page-header.tsx";
import { NewSandboxButton } from "../create/create-buttons.tsx";
import { sandboxes } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { useScope } from "../shell/scope.tsx";
import { SandboxList, useStateFilter } from "./sandbox-list.tsx";
import { StateTiles } from "./state-tiles.tsx";

export function SandboxesPage() {
  const { namespace } = useScope();
  const list = useList(sandboxes, namespace);
  const [state, setState] = useStateFilter();
  return (
    <>
      <PageHeader title="Sandboxes" subtitle="Isolated machines for code that you do not trust">
        <NewSandboxButton />
      </PageHeader>
      <StateTiles items={list.items} chosen={state} onChoose={setState} />
      <SandboxList list={list} maxHeight="calc(100vh - 330px)" />
    </>
  );
}
