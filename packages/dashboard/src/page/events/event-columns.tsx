import type { CoreEvent } from "@agent-sandbox/api";
import { Link } from "wouter";
import { Badge } from "../components/badge.tsx";
import { cleanText } from "../components/clean-text.ts";
import type { Column } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { eventCount, eventTime } from "../model/event-time.ts";
import type { SortKey } from "../model/search.ts";

/** The page of the object of an event. Pods have the names of their sandboxes, with few exceptions. */
export function hrefOfObject({ involvedObject }: CoreEvent): string | undefined {
  const { kind, namespace = "", name = "" } = involvedObject;
  const place = `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const folders: Readonly<Record<string, string>> = {
    Sandbox: "sandboxes",
    Pod: "sandboxes",
    SandboxTemplate: "templates",
    SandboxWarmPool: "pools",
    SandboxClaim: "claims",
    SandboxSnapshot: "snapshots",
  };
  const folder = folders[kind ?? ""];
  return folder === undefined ? undefined : `/${folder}/${place}`;
}

export function EventObject({ event }: { readonly event: CoreEvent }) {
  const { kind, name } = event.involvedObject;
  const href = hrefOfObject(event);
  return (
    <>
      {href === undefined ? (
        <Text of={name} />
      ) : (
        <Link href={href}>
          <Text of={name} />
        </Link>
      )}{" "}
      <Text of={kind} className="faint small" />
    </>
  );
}

export function EventReason({ event }: { readonly event: CoreEvent }) {
  return (
    <Badge tone={event.type === "Warning" ? "warn" : "neutral"}>
      <Text of={event.reason} />
    </Badge>
  );
}

export const eventColumns: readonly Column<CoreEvent>[] = [
  {
    id: "time",
    title: "Last seen",
    width: "80px",
    isSortable: true,
    render: (event) => <RelativeTime at={new Date(eventTime(event)).toISOString()} />,
  },
  {
    id: "object",
    title: "Object",
    width: "minmax(140px, 1.2fr)",
    isSortable: true,
    render: (event) => <EventObject event={event} />,
  },
  {
    id: "reason",
    title: "Reason",
    width: "minmax(110px, 170px)",
    isSortable: true,
    render: (event) => <EventReason event={event} />,
  },
  {
    id: "message",
    title: "Message",
    width: "minmax(160px, 4fr)",
    isExtra: true,
    render: (event) => (
      <span title={cleanText(event.message ?? "")}>
        <Text of={event.message} className="soft" />
      </span>
    ),
  },
  { id: "count", title: "Count", width: "56px", align: "end", isExtra: true, render: (event) => eventCount(event) },
];

export const eventSortKeys: Readonly<Record<string, SortKey<CoreEvent>>> = {
  time: (event) => -eventTime(event),
  object: ({ involvedObject }) => involvedObject.name ?? "",
  reason: ({ reason }) => reason ?? "",
};

export function searchableEvent({ involvedObject, reason, message }: CoreEvent): string {
  return [involvedObject.kind, involvedObject.name, reason, message].join(" ");
}
