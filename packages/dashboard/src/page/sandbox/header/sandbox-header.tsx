/** The heading: name, state and actions, and the facts below it. */
import { findCondition, type Sandbox } from "@agent-sandbox/api";
import { ChevronRight } from "lucide-react";
import { Link } from "wouter";
import { CopyButton } from "../../components/command.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Text } from "../../components/text.tsx";
import { SandboxActions } from "../actions/sandbox-actions.tsx";
import { useSandbox } from "../sandbox-context.tsx";
import { Facts } from "./facts.tsx";

export function SandboxHeader() {
  const { sandbox } = useSandbox();
  const { name = "", namespace = "" } = sandbox.metadata;
  return (
    <div className="sandbox-header">
      <nav className="crumbs" aria-label="Breadcrumb">
        <Link href="/sandboxes">Sandboxes</Link>
        <ChevronRight size={13} aria-hidden />
        <Text of={namespace} />
      </nav>
      <PageHeader title={name} subtitle={<Subtitle sandbox={sandbox} />}>
        <SandboxActions />
      </PageHeader>
      <Facts />
    </div>
  );
}

function Subtitle({ sandbox }: { readonly sandbox: Sandbox }) {
  const isOutdated = findCondition(sandbox.status?.conditions, "PodOutdated")?.status === "True";
  return (
    <span className="sandbox-subtitle">
      <StateBadge sandbox={sandbox} />
      {isOutdated && <span className="badge tone-busy">Runs an older spec: restart to apply it</span>}
      <span className="faint small mono uid">
        <Text of={sandbox.metadata.uid} />
      </span>
      <CopyButton text={sandbox.metadata.uid ?? ""} label="Copy UID" />
    </span>
  );
}
