import { managerName, routerService } from "../../packages/cli/src/operator/settings.ts";

export interface PanelQuery {
  readonly expr: string;
  /** The name of each line, with the labels in double braces. */
  readonly legend: string;
}

export interface PanelSpec {
  readonly title: string;
  /** What the figures mean, and what to look at if they are unusual. */
  readonly description: string;
  /** A unit of Grafana. */
  readonly unit: string;
  readonly type?: "stat" | "timeseries";
  readonly queries: readonly PanelQuery[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly PanelSpec[];
}

const manager = `job="${managerName}"`;
const router = `job="${routerService}"`;
const own = 'namespace=~"$namespace"';
const routed = `${router},sandbox_namespace=~"$namespace"`;
/** The series of a whole Pod: those of a gVisor Pod with several containers exist only for the Pod. */
const wholePod = `${own},pod!="",container="",image=""`;

const rate = (series: string): string => `rate(${series}[$__rate_interval])`;

function quantile(share: number, metric: string, { labels, by }: { labels: string; by?: string }): string {
  return `histogram_quantile(${share}, sum by (${["le", ...(by === undefined ? [] : [by])].join(", ")}) (${rate(`${metric}_bucket{${labels}}`)}))`;
}

const one = (expr: string, legend: string): readonly PanelQuery[] => [{ expr, legend }];

const overview: readonly PanelSpec[] = [
  {
    title: "Sandboxes",
    description: "All Sandbox objects, also those that are suspended.",
    unit: "short",
    type: "stat",
    queries: one(`sum(agent_sandboxes{${manager},${own}})`, "all"),
  },
  {
    title: "Ready",
    description: "Sandboxes whose condition Ready is true.",
    unit: "short",
    type: "stat",
    queries: one(`sum(agent_sandboxes{${manager},${own},ready_condition="true"}) or vector(0)`, "ready"),
  },
  {
    title: "Managers and routers",
    description: "Replicas that Prometheus can scrape.",
    unit: "short",
    type: "stat",
    queries: one(`sum by (job) (up{job=~"${managerName}|${routerService}"})`, "{{job}}"),
  },
  {
    title: "Requests that wait",
    description: "Requests for sandboxes that are being resumed or started.",
    unit: "short",
    type: "stat",
    queries: one(`sum(sandbox_router_waiting_requests{${router}})`, "waiting"),
  },
];

const sandboxes: readonly PanelSpec[] = [
  {
    title: "Sandboxes by namespace",
    description: "Ready and not ready. A suspended sandbox is not ready.",
    unit: "short",
    queries: one(
      `sum by (namespace, ready_condition) (agent_sandboxes{${manager},${own}})`,
      "{{namespace}} ready={{ready_condition}}",
    ),
  },
  {
    title: "Pool members",
    description: "Members that no claim has taken. If few are ready, claims wait: raise the pool's replicas.",
    unit: "short",
    queries: one(
      `sum by (namespace, sandbox_template, ready_condition) (agent_sandboxes{${manager},${own},owned_by="SandboxWarmPool"})`,
      "{{namespace}}/{{sandbox_template}} ready={{ready_condition}}",
    ),
  },
  {
    title: "Claims",
    description: "Claims per second that took a member of a pool (warm) or waited for a new sandbox (cold).",
    unit: "ops",
    queries: one(
      `sum by (launch_type) (${rate(`agent_sandbox_claim_creation_total{${manager},${own}}`)})`,
      "{{launch_type}}",
    ),
  },
  {
    title: "Time until a claim is ready",
    description: "From when the manager first observed the claim. Warm claims take milliseconds.",
    unit: "ms",
    queries: [0.5, 0.95].map((share) => ({
      expr: quantile(share, "agent_sandbox_claim_controller_startup_latency_ms", {
        labels: manager,
        by: "launch_type",
      }),
      legend: `{{launch_type}} p${share * 100}`,
    })),
  },
];

const controllers: readonly PanelSpec[] = [
  {
    title: "Reconciles",
    description: "Per second, by controller and result.",
    unit: "ops",
    queries: one(
      `sum by (controller, result) (${rate(`controller_runtime_reconcile_total{${manager}}`)})`,
      "{{controller}} {{result}}",
    ),
  },
  {
    title: "Duration of reconciles",
    description: "The 95th percentile.",
    unit: "s",
    queries: one(
      quantile(0.95, "controller_runtime_reconcile_time_seconds", { labels: manager, by: "controller" }),
      "{{controller}}",
    ),
  },
  {
    title: "Objects that wait for a reconcile",
    description: "A queue that grows means that the manager or the API server is too slow.",
    unit: "short",
    queries: one(`sum by (name) (workqueue_depth{${manager}})`, "{{name}}"),
  },
  {
    title: "Requests of the manager to the API server",
    description: "Per second, by status code. 429 and 5xx are repeated.",
    unit: "reqps",
    queries: one(`sum by (code) (${rate(`rest_client_requests_total{${manager}}`)})`, "{{code}}"),
  },
];

const traffic: readonly PanelSpec[] = [
  {
    title: "Requests to sandboxes",
    description: "Requests that have ended, per second, by status code.",
    unit: "reqps",
    queries: one(`sum by (code) (${rate(`sandbox_router_requests_total{${routed}}`)})`, "{{code}}"),
  },
  {
    title: "Duration of requests",
    description: "With the time that sandboxes needed to wake and to answer.",
    unit: "s",
    queries: [0.5, 0.95].map((share) => ({
      expr: quantile(share, "sandbox_router_request_duration_seconds", { labels: routed }),
      legend: `p${share * 100}`,
    })),
  },
  {
    title: "Failures between router and sandbox",
    description: "Per second, by namespace and reason. dial: nothing listens on the port, or the network blocks it.",
    unit: "ops",
    queries: one(
      `sum by (sandbox_namespace, reason) (${rate(`sandbox_router_upstream_errors_total{${routed}}`)})`,
      "{{sandbox_namespace}} {{reason}}",
    ),
  },
  {
    title: "Open requests and connections",
    description: "In progress, waiting for a sandbox to become ready, and open while their sandbox is asleep.",
    unit: "short",
    queries: [
      { expr: `sum(sandbox_router_inflight_requests{${router}})`, legend: "in progress" },
      { expr: `sum(sandbox_router_waiting_requests{${router}})`, legend: "waiting" },
      { expr: `sum(sandbox_router_sleeping_connections{${router}})`, legend: "asleep" },
    ],
  },
  {
    title: "Sandboxes woken by traffic",
    description: "Per second, by namespace.",
    unit: "ops",
    queries: one(
      `sum by (sandbox_namespace) (${rate(`sandbox_router_wakes_total{${routed}}`)})`,
      "{{sandbox_namespace}}",
    ),
  },
  {
    title: "Authorization",
    description: "Decisions per second. Many refusals are a client with a wrong or old token.",
    unit: "ops",
    queries: one(`sum by (decision) (${rate(`sandbox_router_authz_decisions_total{${routed}}`)})`, "{{decision}}"),
  },
];

const machine: readonly PanelSpec[] = [
  {
    title: "Processors",
    description: "Processors that the ten busiest Pods use.",
    unit: "short",
    queries: one(
      `topk(10, sum by (namespace, pod) (${rate(`container_cpu_usage_seconds_total{${wholePod}}`)}))`,
      "{{namespace}}/{{pod}}",
    ),
  },
  {
    title: "Memory",
    description: "Working set of the ten largest Pods.",
    unit: "bytes",
    queries: one(
      `topk(10, sum by (namespace, pod) (container_memory_working_set_bytes{${wholePod}}))`,
      "{{namespace}}/{{pod}}",
    ),
  },
  {
    title: "Network",
    description: "Bytes per second that the Pods of each namespace receive and send.",
    unit: "Bps",
    queries: (["receive", "transmit"] as const).map((direction) => ({
      expr: `sum by (namespace) (${rate(`container_network_${direction}_bytes_total{${own}}`)})`,
      legend: `{{namespace}} ${direction}`,
    })),
  },
  {
    title: "Disk",
    description: "What the ten largest Pods have written to their root filesystems.",
    unit: "bytes",
    queries: one(
      `topk(10, max by (namespace, pod) (container_fs_usage_bytes{${own},pod!=""}))`,
      "{{namespace}}/{{pod}}",
    ),
  },
  {
    title: "Volumes",
    description: "Used share of each volume claim.",
    unit: "percentunit",
    queries: one(
      `kubelet_volume_stats_used_bytes{${own}} / kubelet_volume_stats_capacity_bytes{${own}}`,
      "{{namespace}}/{{persistentvolumeclaim}}",
    ),
  },
];

/** The panels of the Grafana dashboard. Each query returns data on a box with traffic, which `test/operator` checks. */
export const rows: readonly Row[] = [
  { title: "Overview", panels: overview },
  { title: "Sandboxes and claims", panels: sandboxes },
  { title: "Manager", panels: controllers },
  { title: "Router", panels: traffic },
  { title: "Nodes", panels: machine },
];
