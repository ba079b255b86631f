import type { Sandbox } from "@agent-sandbox/api";
import { Link } from "wouter";
import { cleanText } from "../components/clean-text.ts";
import { formatBytes, formatCores } from "../components/format.ts";
import { LastUsed } from "../components/last-used.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import type { Column } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { useRecorded } from "../data/use-recorder.tsx";
import { lastUsed } from "../model/last-used.ts";
import { imageOf, knownState, originOf, sandboxStates } from "../model/sandbox-state.ts";
import { createdAt, type SortKey } from "../model/search.ts";
import { podKeyOf } from "../model/usage.ts";
import { useScope } from "../shell/scope.tsx";

export function hrefOfSandbox({ metadata }: Pick<Sandbox, "metadata">): string {
  return `/sandboxes/${encodeURIComponent(metadata.namespace ?? "")}/${encodeURIComponent(metadata.name ?? "")}`;
}

/** The samples of a small plot. More would be narrower than a pixel. */
const shownSamples = 48;

/** Only cells in view are rendered, each when its Pod is measured again. */
function UsageCell({ sandbox, of }: { readonly sandbox: Sandbox; readonly of: "cpu" | "memory" }) {
  const key = podKeyOf(sandbox);
  const samples = useRecorded((recorder) => recorder.pod(key))?.[of] ?? [];
  const last = samples.at(-1)?.value;
  if (last === undefined || knownState(sandbox).state === "sleeping") return <span className="faint">–</span>;
  return (
    <span className="usage">
      <Sparkline values={samples.slice(-shownSamples).map(({ value }) => value)} width={48} height={20} />
      {of === "cpu" ? formatCores(last) : formatBytes(last)}
    </span>
  );
}

function NameCell({ sandbox }: { readonly sandbox: Sandbox }) {
  const scope = useScope();
  return (
    <span className="name-cell">
      <Link href={hrefOfSandbox(sandbox)}>
        <Text of={sandbox.metadata.name} />
      </Link>{" "}
      {scope.namespace === undefined && <Text of={sandbox.metadata.namespace} className="faint small" />}
    </span>
  );
}

/** Whether it has no CPU and memory to show. The reason of its state may then cover these cells. */
function isUnmeasured(sandbox: Sandbox): boolean {
  const { state } = knownState(sandbox);
  return state === "failed" || state === "starting";
}

/** The registry is the same for most images, and the cell is narrow. */
function ImageCell({ name }: { readonly name: string }) {
  return (
    <span className="mono soft" title={cleanText(name)}>
      <Text of={name.slice(name.lastIndexOf("/") + 1)} />
    </span>
  );
}

function DetailCell({ sandbox }: { readonly sandbox: Sandbox }) {
  const { state, why } = knownState(sandbox);
  if (why === undefined) return <Text of={originOf(sandbox) ?? ""} className="faint" />;
  return (
    <span className={state === "failed" ? "why-bad" : "faint"} title={cleanText(why)}>
      <Text of={why} />
    </span>
  );
}

/** Without the column `Last used` if no sandbox in the list has an idle policy: use is recorded only with one. */
export function columnsFor(items: readonly Sandbox[]): readonly Column<Sandbox>[] {
  return items.some((item) => lastUsed(item) !== undefined) ? sandboxColumns : withoutLastUsed;
}

export const sandboxColumns: readonly Column<Sandbox>[] = [
  {
    id: "name",
    title: "Name",
    width: "minmax(150px, 2.4fr)",
    isSortable: true,
    render: (item) => <NameCell sandbox={item} />,
  },
  { id: "state", title: "State", width: "112px", isSortable: true, render: (item) => <StateBadge sandbox={item} /> },
  {
    id: "image",
    title: "Image",
    width: "minmax(84px, 1fr)",
    isSortable: true,
    isExtra: true,
    render: (item) => <ImageCell name={imageOf(item)} />,
  },
  {
    id: "detail",
    title: "Detail",
    width: "minmax(96px, 1.8fr)",
    isExtra: true,
    spanOf: (item) => (isUnmeasured(item) ? 3 : 1),
    render: (item) => <DetailCell sandbox={item} />,
  },
  { id: "cpu", title: "CPU", width: "98px", isExtra: true, render: (item) => <UsageCell sandbox={item} of="cpu" /> },
  {
    id: "memory",
    title: "Memory",
    width: "122px",
    isExtra: true,
    render: (item) => <UsageCell sandbox={item} of="memory" />,
  },
  {
    id: "activity",
    title: "Last used",
    width: "76px",
    isSortable: true,
    isExtra: true,
    render: (item) => <LastUsed sandbox={item} />,
  },
  {
    id: "age",
    title: "Age",
    width: "58px",
    align: "end",
    isSortable: true,
    render: (item) => <RelativeTime at={item.metadata.creationTimestamp} />,
  },
];

const withoutLastUsed = sandboxColumns.filter(({ id }) => id !== "activity");

export const sandboxSortKeys: Readonly<Record<string, SortKey<Sandbox>>> = {
  name: ({ metadata }) => metadata.name ?? "",
  state: (item) => ["failed", ...sandboxStates].indexOf(knownState(item).state),
  image: imageOf,
  activity: (item) => -(Date.parse(lastUsed(item)?.at ?? "") || 0),
  age: (item) => -createdAt(item),
};

export function searchableSandbox(item: Sandbox): string {
  return [imageOf(item), originOf(item), item.spec.podTemplate?.spec?.runtimeClassName].join(" ");
}
