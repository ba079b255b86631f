/** All claims with the sandboxes they have. */
import type { SandboxClaim } from "@agent-sandbox/api";
import { Ticket } from "lucide-react";
import { Badge } from "../components/badge.tsx";
import { cleanText } from "../components/clean-text.ts";
import { EmptyState } from "../components/empty-state.tsx";
import { ListView } from "../components/list-page.tsx";
import { ObjectLink } from "../components/object-link.tsx";
import { PageHeader } from "../components/page-header.tsx";
import type { Column } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { NewClaimButton } from "../create/create-buttons.tsx";
import { sandboxClaims } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { claimState } from "../model/claim-state.ts";
import { hrefIn } from "../model/links.ts";
import { createdAt, type SortKey } from "../model/search.ts";
import { useScope } from "../shell/scope.tsx";

export default function ClaimsPage() {
  const { namespace } = useScope();
  const list = useList(sandboxClaims, namespace);
  return (
    <>
      <PageHeader title="Claims" subtitle="Requests for one sandbox each: from a warm pool, or a new one">
        <NewClaimButton />
      </PageHeader>
      <ListView
        noun="claims"
        list={list}
        columns={columns}
        sortKeys={sortKeys}
        firstSort="age"
        searchable={searchable}
        hrefOf={({ metadata }) => hrefIn("claims", metadata)}
        maxHeight="calc(100vh - 230px)"
        empty={
          <EmptyState icon={Ticket} title="No claims yet" command="agent-sandbox claim python">
            A claim takes a sandbox from a warm pool. Delete it to delete its sandbox.
          </EmptyState>
        }
      />
    </>
  );
}

export function ClaimBadge({ claim }: { readonly claim: SandboxClaim }) {
  const { title, tone } = claimState(claim);
  return (
    <Badge tone={tone} hasDot>
      {title}
    </Badge>
  );
}

const columns: readonly Column<SandboxClaim>[] = [
  {
    id: "name",
    title: "Name",
    width: "minmax(150px, 1.5fr)",
    isSortable: true,
    render: ({ metadata: { namespace, name } }) => (
      <ObjectLink folder="claims" namespace={namespace} name={name} hasNamespace />
    ),
  },
  { id: "state", title: "State", width: "112px", isSortable: true, render: (claim) => <ClaimBadge claim={claim} /> },
  {
    id: "sandbox",
    title: "Sandbox",
    width: "minmax(120px, 1.3fr)",
    isExtra: true,
    render: ({ metadata, status }) => (
      <ObjectLink folder="sandboxes" namespace={metadata.namespace} name={status?.sandbox?.name} />
    ),
  },
  {
    id: "pool",
    title: "Pool",
    width: "minmax(110px, 1.1fr)",
    isSortable: true,
    isExtra: true,
    render: ({ metadata, spec }) => (
      <ObjectLink folder="pools" namespace={metadata.namespace} name={spec.warmPoolRef.name} />
    ),
  },
  {
    id: "detail",
    title: "Detail",
    width: "minmax(110px, 1.8fr)",
    isExtra: true,
    render: (claim) => (
      <span title={cleanText(claimState(claim).why ?? "")}>
        <Text of={claimState(claim).why} className={claimState(claim).tone === "bad" ? "why-bad" : "faint"} />
      </span>
    ),
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

const sortKeys: Readonly<Record<string, SortKey<SandboxClaim>>> = {
  name: ({ metadata }) => metadata.name ?? "",
  state: (claim) => claimState(claim).title,
  pool: ({ spec }) => spec.warmPoolRef.name,
  age: (item) => -createdAt(item),
};

const searchable = ({ spec, status }: SandboxClaim): string =>
  `${spec.warmPoolRef.name} ${status?.sandbox?.name ?? ""}`;
