/** Plots of all nodes together, since the page was opened: nothing keeps these figures elsewhere. */
import { Stat, valuesOf } from "../components/stat.tsx";
import { useRecorder } from "../data/use-recorder.tsx";
import { MachineStats } from "../overview/stat-cards.tsx";

export function Plots() {
  const recorder = useRecorder();
  const running = valuesOf(recorder.series("running"));
  const warm = valuesOf(recorder.series("warmReady"));
  return (
    <dl className="card stats stats-flush">
      <MachineStats />
      <Stat title="Running sandboxes" value={String(running.at(-1) ?? "–")} values={running} />
      <Stat title="Warm members ready" value={String(warm.at(-1) ?? "–")} values={warm} />
    </dl>
  );
}
