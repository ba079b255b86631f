/** The newest events of one object. */
import { useMemo } from "react";
import { Section } from "../components/section.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { events, type KubeObject, keyOf } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { eventCount, eventTime } from "../model/event-time.ts";
import { EventReason } from "./event-columns.tsx";

const shown = 50;

export function ObjectEvents({ object }: { readonly object: KubeObject }) {
  const { namespace, uid = "" } = object.metadata ?? {};
  const { items } = useList(events, namespace, `involvedObject.uid=${uid}`);
  const newest = useMemo(() => items.toSorted((a, b) => eventTime(b) - eventTime(a)).slice(0, shown), [items]);
  return (
    <Section title="Events">
      {newest.length === 0 ? (
        <p className="pad faint">No events in the last hour.</p>
      ) : (
        <ul className="rows">
          {newest.map((event) => (
            <li key={keyOf(event)}>
              <span className="row-head">
                <EventReason event={event} />
                {eventCount(event) > 1 && <span className="faint small">{eventCount(event)} times</span>}
                <span className="faint small row-end">
                  <RelativeTime at={new Date(eventTime(event)).toISOString()} suffix=" ago" />
                </span>
              </span>
              <p className="row-text">
                <Text of={event.message} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
