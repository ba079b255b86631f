import { trackedPodName } from "@agent-sandbox/api";
import { ScrollText } from "lucide-react";
import { useMemo } from "react";
import { EmptyState } from "../../components/empty-state.tsx";
import { formatDuration } from "../../components/format.ts";
import { Text } from "../../components/text.tsx";
import { RelativeTime, Time } from "../../components/time.tsx";
import { events, sandboxSnapshots } from "../../data/resources.ts";
import { useCan, useList } from "../../data/use-data.ts";
import { useClaim } from "../header/facts.tsx";
import { useSandbox } from "../sandbox-context.tsx";
import { eventsOf, timeline } from "./timeline.ts";

export function Timeline() {
  const { sandbox, pod } = useSandbox();
  const { namespace = "" } = sandbox.metadata;
  const canEvents = useCan("watch", events, { namespace });
  const canSnapshots = useCan("watch", sandboxSnapshots, { namespace });
  const { items: all } = useList(canEvents ? events : undefined, namespace);
  const { items: snapshots } = useList(canSnapshots ? sandboxSnapshots : undefined, namespace);
  const claim = useClaim(sandbox);
  const entries = useMemo(() => {
    const own = eventsOf(sandbox, trackedPodName(sandbox), all);
    return timeline({ sandbox, pod, claim, snapshots, events: own });
  }, [sandbox, pod, claim, snapshots, all]);
  return (
    <section className="card" aria-labelledby="timeline-title">
      <header className="card-head">
        <h2 id="timeline-title">Timeline</h2>
        <span className="faint small">The server keeps events for an hour</span>
      </header>
      {entries.length === 0 && <EmptyState icon={ScrollText} title="Nothing happened yet" />}
      <ol className="timeline">
        {entries.map(({ key, at, title, detail, tone, afterMs, count }) => (
          <li key={key} className={`timeline-entry timeline-${tone}`}>
            <span className="timeline-mark" aria-hidden />
            <p className="timeline-line">
              <Text of={title} className="timeline-title" />
              {count !== undefined && <span className="badge">{count} times</span>}
              {afterMs !== undefined && afterMs >= 1000 && (
                <span className="timeline-after">{`+${formatDuration(afterMs)}`}</span>
              )}
              <span className="timeline-time" title="">
                <Time at={at} /> <span className="faint">· </span>
                <RelativeTime at={new Date(at).toISOString()} suffix=" ago" />
              </span>
            </p>
            {detail !== undefined && detail !== "" && (
              <p className="timeline-detail">
                <Text of={detail} />
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
