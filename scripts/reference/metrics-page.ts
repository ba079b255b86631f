import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { ManagerMetrics } from "../../packages/controllers/src/manager/manager-metrics.ts";
import { cadvisorFamilies, resourceFamilies, volumeFamilies } from "../../packages/node/src/metrics/families.ts";
import { Metrics } from "../../packages/router/src/telemetry/metrics.ts";
import { markdownTable } from "./markdown-table.ts";

interface Metric {
  readonly name: string;
  readonly type: string;
  readonly labels?: readonly string[];
  readonly help: string;
}

const root = join(import.meta.dirname, "../..");
const build = { version: "", commit: "", date: "" };

/** The metrics of all processes, as their registries describe them. */
export async function metricsPage(): Promise<string> {
  const router = new Metrics(build);
  router.waitingFrom(() => 0);
  router.sleepingFrom(() => 0);
  return `All are in the Prometheus text format.

## API server

\`kubectl get --raw /metrics\` on the box, with the names of kube-apiserver.

${table(apiServerMetrics())}

## Controllers

\`/metrics\` on \`--metrics-bind-address\` of the manager, with the names of the reference implementation and of controller-runtime.

${table(await ofRegistry(new ManagerMetrics(build).registry))}

## Router

\`/metrics\` on \`--metrics-bind-address\` of the router.

${table(await ofRegistry(router.registry))}

## Node

\`kubectl get --raw /api/v1/nodes/$(hostname)/proxy/metrics/resource\` on the box, with the names of the kubelet.

${table(resourceFamilies([], { cpuSeconds: 0, workingSetBytes: 0 }))}

\`…/proxy/metrics/cadvisor\`:

${table(cadvisorFamilies([]))}

\`…/proxy/metrics\`:

${table(volumeFamilies([]))}`;
}

function table(metrics: readonly Metric[]): string {
  const rows = metrics.map(({ name, type, labels = [], help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    help,
  ]);
  return rows.some(([, , labels]) => labels !== "")
    ? markdownTable(["name", "type", "labels", "meaning"], rows)
    : markdownTable(
        ["name", "type", "meaning"],
        rows.map(([name = "", type = "", , help = ""]) => [name, type, help]),
      );
}

async function ofRegistry(registry: Registry): Promise<Metric[]> {
  const described = await registry.getMetricsAsJSON();
  return described.map(({ name, type, help }) => {
    const metric: object = registry.getSingleMetric(name) ?? {};
    const labels = "labelNames" in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [];
    return { name, type: String(type), labels, help };
  });
}

/** The API server writes its metrics without a registry, so the names are read from its calls. */
function apiServerMetrics(): Metric[] {
  const call = /\b(?:metric\(\s*"(\w+)",\s*"(\w+)",\s*"([^"]+)"|gauge\(\s*"(\w+)",\s*"([^"]+)")/g;
  const sources = globSync("packages/apiserver/src/metrics/*.ts", { cwd: root }).sort();
  return sources
    .filter((file) => !file.includes(".test"))
    .flatMap((file) => [...readFileSync(join(root, file), "utf8").matchAll(call)])
    .map(([, name, type, help, gauge, about]) => ({
      name: name ?? gauge ?? "",
      type: type ?? "gauge",
      help: help ?? about ?? "",
    }));
}
