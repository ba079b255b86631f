/** All warm pools, with their members as bars. */
import type { SandboxWarmPool } from "@agent-sandbox/api";
import { Layers } from "lucide-react";
import { useMemo } from "react";
import { cleanText } from "../components/clean-text.ts";
import { EmptyState } from "../components/empty-state.tsx";
import { ListView } from "../components/list-page.tsx";
import { ObjectLink } from "../components/object-link.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { PoolBar } from "../components/pool-bar.tsx";
import type { Column } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { NewPoolButton } from "../create/create-buttons.tsx";
import type { Snapshot } from "../data/list-store.ts";
import { sandboxWarmPools } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { hrefIn } from "../model/links.ts";
import { isShadow, poolState } from "../model/pool-state.ts";
import { createdAt, type SortKey } from "../model/search.ts";
import { useScope } from "../shell/scope.tsx";

export default function PoolsPage() {
  const { namespace } = useScope();
  const list = useList(sandboxWarmPools, namespace);
  const pools = useVisible(list);
  return (
    <>
      <PageHeader title="Pools" subtitle="Sandboxes that are kept ready, so that a claim gets one at once">
        <NewPoolButton />
      </PageHeader>
      <ListView
        noun="pools"
        list={pools}
        columns={columns}
        sortKeys={sortKeys}
        firstSort="name"
        searchable={searchable}
        hrefOf={({ metadata }) => hrefIn("pools", metadata)}
        maxHeight="calc(100vh - 230px)"
        empty={
          <EmptyState icon={Layers} title="No warm pools yet" command="agent-sandbox apply -f examples/warm-pool.yaml">
            A warm pool keeps sandboxes of a template running, so that nobody waits for one to start.
          </EmptyState>
        }
      />
    </>
  );
}

/** Without the pools that exist only so that claims can name a template. */
function useVisible(list: Snapshot<SandboxWarmPool>): Snapshot<SandboxWarmPool> {
  return useMemo(() => ({ ...list, items: list.items.filter((pool) => !isShadow(pool)) }), [list]);
}

const columns: readonly Column<SandboxWarmPool>[] = [
  {
    id: "name",
    title: "Name",
    width: "minmax(150px, 1.4fr)",
    isSortable: true,
    render: ({ metadata: { namespace, name } }) => (
      <ObjectLink folder="pools" namespace={namespace} name={name} hasNamespace />
    ),
  },
  {
    id: "members",
    title: "Members",
    width: "minmax(90px, 1.4fr)",
    render: (pool) => <PoolBar pool={pool} />,
  },
  {
    id: "ready",
    title: "Ready",
    width: "76px",
    isSortable: true,
    render: (pool) => `${poolState(pool).ready} of ${poolState(pool).wanted}`,
  },
  {
    id: "outdated",
    title: "Out of date",
    width: "96px",
    isSortable: true,
    isLargestFirst: true,
    isExtra: true,
    render: (pool) => poolState(pool).outdated || <span className="faint">–</span>,
  },
  {
    id: "template",
    title: "Template",
    width: "minmax(110px, 1.2fr)",
    isSortable: true,
    isExtra: true,
    render: ({ metadata, spec }) => (
      <ObjectLink folder="templates" namespace={metadata.namespace} name={spec.sandboxTemplateRef.name} />
    ),
  },
  {
    id: "why",
    title: "Detail",
    width: "minmax(110px, 2fr)",
    isExtra: true,
    render: (pool) => (
      <span title={cleanText(poolState(pool).why ?? "")}>
        <Text of={poolState(pool).why} className="soft" />
      </span>
    ),
  },
  {
    id: "age",
    title: "Age",
    width: "64px",
    align: "end",
    isSortable: true,
    isExtra: true,
    render: ({ metadata }) => <RelativeTime at={metadata.creationTimestamp} />,
  },
];

const sortKeys: Readonly<Record<string, SortKey<SandboxWarmPool>>> = {
  name: ({ metadata }) => metadata.name ?? "",
  ready: (pool) => poolState(pool).ready,
  outdated: (pool) => poolState(pool).outdated,
  template: ({ spec }) => spec.sandboxTemplateRef.name,
  age: (item) => -createdAt(item),
};

const searchable = ({ spec }: SandboxWarmPool): string => spec.sandboxTemplateRef.name;
