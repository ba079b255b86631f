/** Numbers with small plots of what happened since the page was opened. */
import type { ReactNode } from "react";
import { formatBytes, formatCores, formatDuration, readQuantity } from "../components/format.ts";
import { Sparkline } from "../components/sparkline.tsx";
import { useNow } from "../components/time.tsx";
import { nodes } from "../data/resources.ts";
import { useCan, useList } from "../data/use-data.ts";
import { useRecorder } from "../data/use-recorder.tsx";
import { median, perMinute, type Sample } from "../model/series.ts";

const minutes = 20;
const shownSamples = 120;
const shownWakes = 30;

interface StatProps {
  readonly title: string;
  readonly value: string;
  readonly unit?: ReactNode;
  readonly values: readonly number[];
  readonly highest?: number | undefined;
}

function Stat({ title, value, unit, values, highest }: StatProps) {
  return (
    <div className="stat">
      <dt>{title}</dt>
      <dd>
        <span className="stat-value">{value}</span>
        {unit !== undefined && <span className="stat-unit">{unit}</span>}
      </dd>
      <Sparkline values={values} highest={highest} />
    </div>
  );
}

const valuesOf = (samples: readonly Sample[]): number[] => samples.slice(-shownSamples).map(({ value }) => value);

export function StatCards() {
  const recorder = useRecorder();
  const now = useNow();
  const claims = perMinute(recorder.claimTimes, Math.max(now, Date.now()), minutes);
  const wakes = recorder.wakes.slice(-shownWakes).map(({ tookMs }) => tookMs);
  const middle = median(wakes);
  const warm = valuesOf(recorder.series("warmReady"));
  return (
    <dl className="card stats">
      <Stat title="Claims in the last minute" value={String(claims.at(-1) ?? 0)} values={claims} />
      <Stat title="Warm members ready" value={String(warm.at(-1) ?? 0)} values={warm} />
      <Stat
        title="Wake time"
        value={middle === undefined ? "–" : formatDuration(middle)}
        unit={middle === undefined ? "none yet" : `median of ${wakes.length}`}
        values={wakes}
      />
      <MachineStats />
    </dl>
  );
}

function MachineStats() {
  const recorder = useRecorder();
  const canNodes = useCan("list", nodes);
  const { items } = useList(canNodes ? nodes : undefined);
  const total = (resource: "cpu" | "memory"): number | undefined => {
    const sum = items.reduce((all, { status }) => all + (readQuantity(status?.capacity?.[resource]) ?? 0), 0);
    return sum === 0 ? undefined : sum;
  };
  const cpu = valuesOf(recorder.series(canNodes ? "nodeCpu" : "sandboxCpu"));
  const memory = valuesOf(recorder.series(canNodes ? "nodeMemory" : "sandboxMemory"));
  const [cores, bytes] = [total("cpu"), total("memory")];
  const owner = canNodes ? "" : " of sandboxes";
  return (
    <>
      <Stat
        title={`CPU${owner}`}
        value={cpu.length === 0 ? "–" : formatCores(cpu.at(-1) ?? 0)}
        unit={cores === undefined ? undefined : `of ${cores} cores`}
        values={cpu}
        highest={cores}
      />
      <Stat
        title={`Memory${owner}`}
        value={memory.length === 0 ? "–" : formatBytes(memory.at(-1) ?? 0)}
        unit={bytes === undefined ? undefined : `of ${formatBytes(bytes)}`}
        values={memory}
        highest={bytes}
      />
    </>
  );
}
