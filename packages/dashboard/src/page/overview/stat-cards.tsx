/** Numbers with small plots of what happened since the page was opened. */
import { formatBytes, formatCores, formatDuration, readQuantity } from "../components/format.ts";
import { Stat, valuesOf } from "../components/stat.tsx";
import { useNow } from "../components/time.tsx";
import { nodes } from "../data/resources.ts";
import { useCan, useList } from "../data/use-data.ts";
import { useRecorder } from "../data/use-recorder.tsx";
import { median, perMinute } from "../model/series.ts";

const minutes = 20;
const shownWakes = 30;

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

/** CPU and memory of all nodes, or of the sandboxes if the user may not read nodes. Belongs in `<dl className="card stats">`. */
export function MachineStats() {
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
