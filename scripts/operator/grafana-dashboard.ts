import { managerName } from "../../packages/cli/src/operator/settings.ts";
import { type PanelSpec, type Row, rows } from "./dashboard-panels.ts";

const datasource = { type: "prometheus", uid: "${datasource}" };
/** Grafana's grid has 24 columns. */
const columns = 24;

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** The file that Grafana imports: rows of panels, for all or some namespaces. */
export function grafanaDashboard(): string {
  const dashboard = {
    uid: "agent-sandbox",
    title: "Agent Sandbox",
    description: "Sandboxes, claims, the manager, the router and the resources that sandboxes use.",
    tags: ["agent-sandbox"],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    templating: { list: [dataSourceVariable, namespaceVariable] },
    panels: layOut(),
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}

const dataSourceVariable = { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" };

const namespaceVariable = {
  name: "namespace",
  label: "Namespace",
  type: "query",
  datasource,
  query: {
    query: `label_values(agent_sandboxes{job="${managerName}"}, namespace)`,
    refId: "PrometheusVariableQueryEditor-VariableQuery",
  },
  refresh: 2,
  sort: 1,
  includeAll: true,
  allValue: ".*",
  multi: true,
  current: { selected: true, text: ["All"], value: ["$__all"] },
};

function layOut(): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({ id: panels.length + 1, type: "row", title: row.title, gridPos: { x: 0, y, w: columns, h: 1 } });
    y += 1;
    for (const { panel, place } of placesOf(row, y)) {
      panels.push(panelOf(panel, panels.length + 1, place));
      y = Math.max(y, place.y + place.h);
    }
  }
  return panels;
}

/** Figures in one line, graphs in lines of two. */
function placesOf({ panels }: Row, top: number): { panel: PanelSpec; place: Place }[] {
  const isFigures = panels.every(({ type }) => type === "stat");
  const [perLine, h] = isFigures ? [panels.length, 4] : [2, 8];
  const w = columns / perLine;
  return panels.map((panel, at) => ({
    panel,
    place: { x: (at % perLine) * w, y: top + Math.floor(at / perLine) * h, w, h },
  }));
}

function panelOf(
  { title, description, unit, type = "timeseries", queries }: PanelSpec,
  id: number,
  gridPos: Place,
): object {
  return {
    id,
    type,
    title,
    description,
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: type === "stat" ? { reduceOptions: { calcs: ["lastNotNull"] } } : { tooltip: { mode: "multi" } },
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + at),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}
