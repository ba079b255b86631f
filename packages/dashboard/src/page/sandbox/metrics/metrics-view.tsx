/** Memory and CPU of the sandbox since the page was opened. Reading them neither wakes it nor keeps it awake. */
import { Activity, Lock, Moon } from "lucide-react";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { formatBytes, formatCores } from "../../components/format.ts";
import { Section } from "../../components/section.tsx";
import { Text } from "../../components/text.tsx";
import { podMetrics } from "../../data/resources.ts";
import { useCan } from "../../data/use-data.ts";
import { useRecorded } from "../../data/use-recorder.tsx";
import { knownState } from "../../model/sandbox-state.ts";
import type { Sample } from "../../model/series.ts";
import { podKeyOf } from "../../model/usage.ts";
import { useScope } from "../../shell/scope.tsx";
import { useSandbox } from "../sandbox-context.tsx";
import { scaleOf, summaryOf } from "./plot-scale.ts";
import { podLimits } from "./pod-limits.ts";
import { TimePlot } from "./time-plot.tsx";

export default function MetricsView() {
  const { sandbox, pod } = useSandbox();
  const { namespace = "" } = sandbox.metadata;
  const scope = useScope();
  const canRead = useCan("list", podMetrics, { namespace });
  const series = useRecorded((recorder) => recorder.pod(podKeyOf(sandbox)));
  const canReadScope = useCan("list", podMetrics, { namespace: scope.namespace });
  // Figures are recorded for the scope. Some users may read those of a namespace, but not those of all.
  const isOutside = scope.namespace === undefined ? canRead && !canReadScope : scope.namespace !== namespace;
  if (series === undefined) {
    return (
      <div className="card">
        {isOutside ? (
          <EmptyState
            icon={Activity}
            title={scope.namespace === undefined ? "All namespaces are shown" : "Another namespace is shown"}
          >
            Figures are recorded for what is chosen at the top of the page
            {scope.namespace === undefined ? ", and you may not list the metrics of all namespaces." : "."}
            <p className="wake">
              <Button onClick={() => scope.setNamespace(namespace)}>
                Show <Text of={namespace} />
              </Button>
            </p>
          </EmptyState>
        ) : (
          <NoFigures canRead={canRead} isRunning={knownState(sandbox).state === "running"} />
        )}
      </div>
    );
  }
  const limits = podLimits(pod?.spec ?? sandbox.spec.podTemplate?.spec);
  return (
    <div className="metrics">
      <Figure title="Memory" samples={series.memory} unit="bytes" limit={limits.memory} format={formatBytes} />
      <Figure title="CPU" samples={series.cpu} unit="cores" limit={limits.cpu} format={formatCores} />
      <p className="faint small">
        Measured every few seconds since this page was opened. CPU is in cores: 500m is half of one. Looking at this
        view does not keep the sandbox awake.
      </p>
    </div>
  );
}

function NoFigures({ canRead, isRunning }: { readonly canRead: boolean; readonly isRunning: boolean }) {
  if (!isRunning) {
    return (
      <EmptyState icon={Moon} title="It does not run now">
        Memory and CPU are measured while it runs.
      </EmptyState>
    );
  }
  if (!canRead) {
    return (
      <EmptyState icon={Lock} title="You may not read metrics here">
        This needs the right to list pods of metrics.k8s.io in the namespace.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={Activity} title="No figures yet">
      The first are here within seconds. A cluster needs the Metrics Server.
    </EmptyState>
  );
}

interface FigureProps {
  readonly title: string;
  readonly samples: readonly Sample[];
  readonly unit: "cores" | "bytes";
  readonly limit: number | undefined;
  readonly format: (value: number) => string;
}

function Figure({ title, samples, unit, limit, format }: FigureProps) {
  const summary = summaryOf(samples);
  if (summary === undefined) return null;
  const { now, average, highest } = summary;
  // A limit far above all values would make them a line at the bottom.
  const isNear = limit !== undefined && limit < highest * farFactor;
  const scale = scaleOf(isNear ? Math.max(limit, highest) : highest * headroom, unit);
  const numbers: readonly (readonly [string, string])[] = [
    ["Now", format(now)],
    ["Average", format(average)],
    ["Highest", format(highest)],
    ["Limit", limit === undefined ? "none" : format(limit)],
  ];
  return (
    <Section title={title} aside={<span className="metrics-now">{format(now)}</span>}>
      <TimePlot samples={samples} scale={scale} format={format} limit={limit} />
      <dl className="metrics-numbers">
        {numbers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

const farFactor = 3;
const headroom = 1.1;
