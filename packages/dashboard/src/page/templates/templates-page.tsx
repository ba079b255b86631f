/** All templates. Each row can start a sandbox. */
import type { SandboxTemplate, SandboxWarmPool } from "@agent-sandbox/api";
import { FileBox } from "lucide-react";
import { useMemo } from "react";
import { EmptyState } from "../components/empty-state.tsx";
import { ListView } from "../components/list-page.tsx";
import { ObjectLink } from "../components/object-link.tsx";
import { PageHeader } from "../components/page-header.tsx";
import type { Column } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { NewTemplateButton, StartFromTemplateButton } from "../create/create-buttons.tsx";
import { sandboxTemplates, sandboxWarmPools } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { imageIn, sleepIn } from "../model/blueprint.ts";
import { hrefIn } from "../model/links.ts";
import { isShadow } from "../model/pool-state.ts";
import { createdAt, type SortKey } from "../model/search.ts";
import { useScope } from "../shell/scope.tsx";

export default function TemplatesPage() {
  const { namespace } = useScope();
  const list = useList(sandboxTemplates, namespace);
  const { items: pools } = useList(sandboxWarmPools, namespace);
  const columns = useMemo(() => columnsFor(pools), [pools]);
  return (
    <>
      <PageHeader title="Templates" subtitle="What sandboxes are made from: image, limits, sleep and network">
        <NewTemplateButton />
      </PageHeader>
      <ListView
        noun="templates"
        list={list}
        columns={columns}
        sortKeys={sortKeys}
        firstSort="name"
        searchable={searchable}
        hrefOf={({ metadata }) => hrefIn("templates", metadata)}
        maxHeight="calc(100vh - 230px)"
        empty={
          <EmptyState icon={FileBox} title="No templates yet" command="agent-sandbox apply -f examples/warm-pool.yaml">
            A template describes sandboxes, so that one click or one claim starts another.
          </EmptyState>
        }
      />
    </>
  );
}

function columnsFor(pools: readonly SandboxWarmPool[]): readonly Column<SandboxTemplate>[] {
  const poolsOf = ({ metadata }: SandboxTemplate): SandboxWarmPool[] =>
    pools.filter(
      (pool) =>
        !isShadow(pool) &&
        pool.metadata.namespace === metadata.namespace &&
        pool.spec.sandboxTemplateRef.name === metadata.name,
    );
  return [
    {
      id: "name",
      title: "Name",
      width: "minmax(150px, 1.6fr)",
      isSortable: true,
      render: ({ metadata }) => <ObjectLink folder="templates" {...place(metadata)} hasNamespace />,
    },
    {
      id: "image",
      title: "Image",
      width: "minmax(110px, 1.6fr)",
      isSortable: true,
      isExtra: true,
      render: ({ spec }) => <Text of={imageIn(spec)} className="mono soft" />,
    },
    {
      id: "sleep",
      title: "Sleeps",
      width: "minmax(110px, 1.2fr)",
      isExtra: true,
      render: ({ spec }) => <Text of={sleepIn(spec)} className="soft" />,
    },
    {
      id: "pools",
      title: "Warm pools",
      width: "minmax(100px, 1.2fr)",
      isExtra: true,
      render: (template) => <PoolLinks pools={poolsOf(template)} />,
    },
    {
      id: "age",
      title: "Age",
      width: "64px",
      isSortable: true,
      isExtra: true,
      render: ({ metadata }) => <RelativeTime at={metadata.creationTimestamp} />,
    },
    {
      id: "start",
      title: "Action",
      width: "84px",
      align: "end",
      render: (template) => <StartFromTemplateButton template={template} isSmall />,
    },
  ];
}

function PoolLinks({ pools }: { readonly pools: readonly SandboxWarmPool[] }) {
  const [first] = pools;
  if (first === undefined) return <span className="faint">–</span>;
  return (
    <>
      <ObjectLink folder="pools" {...place(first.metadata)} />
      {pools.length > 1 && <span className="faint"> and {pools.length - 1} more</span>}
    </>
  );
}

const place = ({ namespace, name }: SandboxTemplate["metadata"]) => ({ namespace, name });

const sortKeys: Readonly<Record<string, SortKey<SandboxTemplate>>> = {
  name: ({ metadata }) => metadata.name ?? "",
  image: ({ spec }) => imageIn(spec),
  age: (item) => -createdAt(item),
};

const searchable = ({ spec }: SandboxTemplate): string => imageIn(spec);
