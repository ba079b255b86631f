/** The newest events, as they happen. */
import { ScrollText } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import { EmptyState } from "../components/empty-state.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { events, keyOf } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { eventTime } from "../model/event-time.ts";
import { useScope } from "../shell/scope.tsx";
import { EventObject, EventReason } from "./event-columns.tsx";

const shown = 40;

export function EventStream() {
  const { namespace } = useScope();
  const { items } = useList(events, namespace);
  const newest = useMemo(() => items.toSorted((a, b) => eventTime(b) - eventTime(a)).slice(0, shown), [items]);
  return (
    <section className="card events" aria-labelledby="events-title">
      <header className="card-head">
        <h2 id="events-title">Events</h2>
        <Link href="/events">All events</Link>
      </header>
      {newest.length === 0 ? (
        <EmptyState icon={ScrollText} title="No events yet" />
      ) : (
        <ul className="event-stream" tabIndex={0} aria-label="Newest events">
          {newest.map((event) => (
            <li key={keyOf(event)}>
              <p className="event-line">
                <EventReason event={event} />
                <span className="event-object">
                  <EventObject event={event} />
                </span>
                <span className="faint small">
                  <RelativeTime at={new Date(eventTime(event)).toISOString()} />
                </span>
              </p>
              <p className="event-message">
                <Text of={event.message} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
