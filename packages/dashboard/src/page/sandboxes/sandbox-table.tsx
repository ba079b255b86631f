/** Sandboxes that belong to another object, without search: the newest first. */
import type { Sandbox } from "@agent-sandbox/api";
import { useMemo } from "react";
import { Section } from "../components/section.tsx";
import { Table } from "../components/table.tsx";
import { keyOf } from "../data/resources.ts";
import { createdAt } from "../model/search.ts";
import { hrefOfSandbox, sandboxColumns } from "./sandbox-columns.tsx";

interface SandboxTableProps {
  readonly title: string;
  readonly items: readonly Sandbox[];
  readonly empty: string;
}

const shownColumns: readonly string[] = ["name", "state", "detail", "cpu", "memory", "age"];
const columns = sandboxColumns.filter(({ id }) => shownColumns.includes(id));

export function SandboxTable({ title, items, empty }: SandboxTableProps) {
  const sorted = useMemo(() => items.toSorted((a, b) => createdAt(b) - createdAt(a)), [items]);
  return (
    <Section title={title} aside={<span className="faint small">{items.length}</span>}>
      {items.length === 0 ? (
        <p className="pad faint">{empty}</p>
      ) : (
        <Table label={title} columns={columns} items={sorted} keyOf={keyOf} hrefOf={hrefOfSandbox} maxHeight="360px" />
      )}
    </Section>
  );
}
