import { ScrollText } from "lucide-react";
import { EmptyState } from "../components/empty-state.tsx";
import { ListView } from "../components/list-page.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { events } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { useScope } from "../shell/scope.tsx";
import { eventColumns, eventSortKeys, searchableEvent } from "./event-columns.tsx";

export function EventsPage() {
  const { namespace } = useScope();
  const list = useList(events, namespace);
  return (
    <>
      <PageHeader
        title="Events"
        subtitle="What the node and the controllers report. The server keeps events for an hour"
      />
      <ListView
        noun="events"
        list={list}
        columns={eventColumns}
        sortKeys={eventSortKeys}
        firstSort="time"
        searchable={searchableEvent}
        maxHeight="calc(100vh - 220px)"
        empty={<EmptyState icon={ScrollText} title="No events yet" />}
      />
    </>
  );
}
