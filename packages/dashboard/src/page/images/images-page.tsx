/** The images of the machine, and those that sandboxes and templates use. */
import { Images as ImagesIcon } from "lucide-react";
import { useMemo, useState } from "react";
import { Button } from "../components/button.tsx";
import { cleanText } from "../components/clean-text.ts";
import { EmptyState } from "../components/empty-state.tsx";
import { formatBytes } from "../components/format.ts";
import { ListView } from "../components/list-page.tsx";
import { PageHeader } from "../components/page-header.tsx";
import type { Column } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { nodes, sandboxes, sandboxTemplates } from "../data/resources.ts";
import { useCan, useList } from "../data/use-data.ts";
import { type ImageRow, imageRows } from "../model/image-use.ts";
import { imagesOf } from "../model/images.ts";
import type { SortKey } from "../model/search.ts";
import { useScope } from "../shell/scope.tsx";
import { ImageDialog } from "./image-dialog.tsx";

export default function ImagesPage() {
  const { namespace } = useScope();
  const canNodes = useCan("list", nodes);
  const machine = useList(canNodes ? nodes : undefined);
  const boxes = useList(sandboxes, namespace);
  const templates = useList(sandboxTemplates, namespace);
  const rows = useMemo(
    () => imageRows(imagesOf(machine.items), boxes.items, templates.items),
    [machine.items, boxes.items, templates.items],
  );
  const [shown, setShown] = useState<string>();
  const columns = useMemo(() => columnsFor(setShown), []);
  const open = rows.find(({ name }) => name === shown);
  return (
    <>
      <PageHeader
        title="Images"
        subtitle={canNodes ? "On this machine, the largest first" : "Used by sandboxes and templates that you may read"}
      />
      <ListView
        noun="images"
        list={{ ...boxes, items: rows }}
        columns={columns}
        sortKeys={sortKeys}
        firstSort="-size"
        searchable={searchable}
        maxHeight="calc(100vh - 230px)"
        empty={
          <EmptyState icon={ImagesIcon} title="No images yet" command="agent-sandbox image pull python:3.13">
            An image holds the programs of a sandbox. It is pulled when the first sandbox needs it.
          </EmptyState>
        }
      />
      {open !== undefined && <ImageDialog image={open} onClose={() => setShown(undefined)} />}
    </>
  );
}

const none = <span className="faint">–</span>;

function columnsFor(onOpen: (name: string) => void): readonly Column<ImageRow>[] {
  return [
    {
      id: "name",
      title: "Name",
      width: "minmax(180px, 3fr)",
      isSortable: true,
      render: ({ name }) => (
        <button type="button" className="link mono" onClick={() => onOpen(name)}>
          <Text of={name} />
        </button>
      ),
    },
    {
      id: "size",
      title: "Size",
      width: "100px",
      isSortable: true,
      isLargestFirst: true,
      render: ({ sizeBytes }) => (sizeBytes === undefined ? none : formatBytes(sizeBytes)),
    },
    {
      id: "sandboxes",
      title: "Sandboxes",
      width: "96px",
      isSortable: true,
      isLargestFirst: true,
      isExtra: true,
      render: (row) => row.sandboxes.length || none,
    },
    {
      id: "templates",
      title: "Templates",
      width: "96px",
      isSortable: true,
      isLargestFirst: true,
      isExtra: true,
      render: (row) => row.templates.length || none,
    },
    {
      id: "nodes",
      title: "Machine",
      width: "minmax(90px, 1fr)",
      isExtra: true,
      render: (row) => (row.nodes.length === 0 ? none : <Text of={row.nodes.join(", ")} className="soft" />),
    },
    {
      id: "open",
      title: "Action",
      width: "84px",
      align: "end",
      isExtra: true,
      render: ({ name }) => (
        <Button isSmall onClick={() => onOpen(name)} aria-label={`Details of ${cleanText(name)}`}>
          Details
        </Button>
      ),
    },
  ];
}

const sortKeys: Readonly<Record<string, SortKey<ImageRow>>> = {
  name: ({ name }) => name,
  size: ({ sizeBytes }) => sizeBytes ?? 0,
  sandboxes: (row) => row.sandboxes.length,
  templates: (row) => row.templates.length,
};

const searchable = ({ names, nodes: on }: ImageRow): string => [...names, ...on].join(" ");
