/** All snapshots. */
import type { SandboxSnapshot } from "@agent-sandbox/api";
import { Camera } from "lucide-react";
import { Badge } from "../components/badge.tsx";
import { EmptyState } from "../components/empty-state.tsx";
import { formatBytes } from "../components/format.ts";
import { ListView } from "../components/list-page.tsx";
import { ObjectLink } from "../components/object-link.tsx";
import { PageHeader } from "../components/page-header.tsx";
import type { Column } from "../components/table.tsx";
import { RelativeTime } from "../components/time.tsx";
import { NewSnapshotButton } from "../create/create-buttons.tsx";
import { sandboxSnapshots } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { hrefIn } from "../model/links.ts";
import { createdAt, type SortKey } from "../model/search.ts";
import { snapshotState, sourceOf } from "../model/snapshot-state.ts";
import { useScope } from "../shell/scope.tsx";

export default function SnapshotsPage() {
  const { namespace } = useScope();
  const list = useList(sandboxSnapshots, namespace);
  return (
    <>
      <PageHeader
        title="Snapshots"
        subtitle="States of sandboxes at one instant, to go back to or to start others from"
      >
        <NewSnapshotButton />
      </PageHeader>
      <ListView
        noun="snapshots"
        list={list}
        columns={columns}
        sortKeys={sortKeys}
        firstSort="age"
        searchable={searchable}
        hrefOf={({ metadata }) => hrefIn("snapshots", metadata)}
        maxHeight="calc(100vh - 230px)"
        empty={
          <EmptyState icon={Camera} title="No snapshots yet" command="agent-sandbox snapshot create my-sandbox">
            A snapshot holds the files, the volumes and, under gVisor, the memory of a sandbox. The sandbox keeps
            running.
          </EmptyState>
        }
      />
    </>
  );
}

export function SnapshotBadge({ snapshot }: { readonly snapshot: SandboxSnapshot }) {
  const { title, tone } = snapshotState(snapshot);
  return (
    <Badge tone={tone} hasDot>
      {title}
    </Badge>
  );
}

const columns: readonly Column<SandboxSnapshot>[] = [
  {
    id: "name",
    title: "Name",
    width: "minmax(160px, 1.7fr)",
    isSortable: true,
    render: ({ metadata: { namespace, name } }) => (
      <ObjectLink folder="snapshots" namespace={namespace} name={name} hasNamespace />
    ),
  },
  {
    id: "state",
    title: "State",
    width: "132px",
    isSortable: true,
    render: (snapshot) => <SnapshotBadge snapshot={snapshot} />,
  },
  {
    id: "sandbox",
    title: "Sandbox",
    width: "minmax(110px, 1.3fr)",
    isSortable: true,
    isExtra: true,
    render: (snapshot) => (
      <ObjectLink folder="sandboxes" namespace={snapshot.metadata.namespace} name={sourceOf(snapshot)} />
    ),
  },
  {
    id: "depth",
    title: "Contains",
    width: "minmax(90px, 150px)",
    isExtra: true,
    render: (snapshot) => <span className="soft">{containsTitle(snapshot)}</span>,
  },
  {
    id: "size",
    title: "Size",
    width: "92px",
    isSortable: true,
    isLargestFirst: true,
    isExtra: true,
    render: ({ status }) =>
      status?.sizeBytes === undefined ? <span className="faint">–</span> : formatBytes(status.sizeBytes),
  },
  {
    id: "age",
    title: "Age",
    width: "64px",
    align: "end",
    isSortable: true,
    render: ({ metadata }) => <RelativeTime at={metadata.creationTimestamp} />,
  },
];

export function containsTitle({ spec, status }: SandboxSnapshot): string {
  const depth = status?.depth ?? spec.depth;
  return depth === undefined ? "–" : depth === "Memory" ? "Memory and files" : "Files";
}

const sortKeys: Readonly<Record<string, SortKey<SandboxSnapshot>>> = {
  name: ({ metadata }) => metadata.name ?? "",
  state: (snapshot) => snapshotState(snapshot).title,
  sandbox: (snapshot) => sourceOf(snapshot) ?? "",
  size: ({ status }) => status?.sizeBytes ?? 0,
  age: (item) => -createdAt(item),
};

const searchable = (snapshot: SandboxSnapshot): string => sourceOf(snapshot) ?? "";
