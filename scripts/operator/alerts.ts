import { managerName, routerService } from "../../packages/cli/src/operator/settings.ts";
import { nodeJobs } from "./box-scrape-config.ts";

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: "critical" | "warning" };
  readonly annotations: { readonly summary: string; readonly description: string };
}

function alert(
  name: string,
  rule: { expr: string; for: string; severity: "critical" | "warning"; summary: string; description: string },
): AlertRule {
  const { expr, severity, summary, description } = rule;
  return { alert: name, expr, for: rule.for, labels: { severity }, annotations: { summary, description } };
}

/** The kubelets, as Prometheus for clusters names their job, and the node of a box. */
const nodes = `job=~"kubelet|${Object.values(nodeJobs).join("|")}"`;

/** The alerts of `deploy/monitoring`. `docs/alerts.md` has a section for each, which a test checks. */
export const alertRules: readonly AlertRule[] = [
  // The name and condition of the reference implementation's only alert.
  alert("AgentSandboxControllerMetricsTargetsDown", {
    expr: `absent(up{job="${managerName}"} == 1)`,
    for: "5m",
    severity: "warning",
    summary: "No replica of the manager can be scraped.",
    description: "Sandboxes are probably not started, suspended or deleted. Running sandboxes continue to run.",
  }),
  alert("AgentSandboxNoLeader", {
    expr: `max(leader_election_master_status{job="${managerName}"}) == 0`,
    for: "2m",
    severity: "critical",
    summary: "No replica of the manager holds the lease.",
    description: "Replicas run, but none of them reconciles.",
  }),
  alert("AgentSandboxReconcileErrors", {
    expr: `sum by (controller) (rate(controller_runtime_reconcile_errors_total{job="${managerName}"}[10m])) / sum by (controller) (rate(controller_runtime_reconcile_total{job="${managerName}"}[10m])) > 0.2`,
    for: "15m",
    severity: "warning",
    summary: "More than a fifth of the reconciles of {{ $labels.controller }} fail.",
    description: "The log of the leader names the objects and the errors.",
  }),
  alert("AgentSandboxQueueGrows", {
    expr: `sum by (name) (workqueue_depth{job="${managerName}"}) > 100`,
    for: "15m",
    severity: "warning",
    summary: "More than 100 objects wait for a reconcile of {{ $labels.name }}.",
    description: "The manager cannot keep up, or the API server answers slowly.",
  }),
  alert("AgentSandboxApiServerRefuses", {
    expr: `sum(rate(rest_client_requests_total{job="${managerName}",code=~"5..|429|<error>"}[10m])) / sum(rate(rest_client_requests_total{job="${managerName}"}[10m])) > 0.1`,
    for: "15m",
    severity: "warning",
    summary: "More than a tenth of the manager's requests to the API server fail.",
    description: "The API server is overloaded, limits the manager, or cannot be reached.",
  }),
  alert("AgentSandboxClaimsSlow", {
    expr: `histogram_quantile(0.95, sum by (le, sandbox_template) (rate(agent_sandbox_claim_controller_startup_latency_ms_bucket{job="${managerName}",launch_type="warm"}[10m]))) > 2000`,
    for: "15m",
    severity: "warning",
    summary: "One of 20 warm claims of {{ $labels.sandbox_template }} takes more than 2 s.",
    description:
      "A claim of a ready sandbox takes milliseconds. The API server is slow, or members of the pool are taken before they are ready.",
  }),
  alert("AgentSandboxPoolsEmpty", {
    expr: `sum by (namespace, sandbox_template) (increase(agent_sandbox_claim_creation_total{job="${managerName}",launch_type="cold"}[30m])) > 5 and sum by (namespace, sandbox_template) (increase(agent_sandbox_claim_creation_total{job="${managerName}",launch_type="cold"}[30m])) > sum by (namespace, sandbox_template) (increase(agent_sandbox_claim_creation_total{job="${managerName}",launch_type="warm"}[30m]))`,
    for: "15m",
    severity: "warning",
    summary: "Most claims of {{ $labels.sandbox_template }} in {{ $labels.namespace }} find an empty pool.",
    description:
      "Their sandboxes are started while the users wait. The pool is too small, or its members do not become ready.",
  }),
  alert("AgentSandboxNotReady", {
    expr: `sum by (namespace, sandbox_template) (agent_sandboxes{job="${managerName}",ready_condition="false",expired="false",owned_by="SandboxWarmPool"}) / sum by (namespace, sandbox_template) (agent_sandboxes{job="${managerName}",owned_by="SandboxWarmPool"}) > 0.5`,
    for: "15m",
    severity: "warning",
    summary:
      "More than half of the pool members of {{ $labels.sandbox_template }} in {{ $labels.namespace }} are not ready.",
    description: "The Ready condition of a member says why.",
  }),
  alert("AgentSandboxRouterDown", {
    expr: `absent(up{job="${routerService}"} == 1)`,
    for: "5m",
    severity: "critical",
    summary: "No replica of the router can be scraped.",
    description: "Sandboxes cannot be reached from outside, and traffic does not wake them.",
  }),
  alert("AgentSandboxRouterErrors", {
    expr: `sum by (sandbox_namespace) (rate(sandbox_router_upstream_errors_total{job="${routerService}"}[10m])) / sum by (sandbox_namespace) (rate(sandbox_router_requests_total{job="${routerService}"}[10m])) > 0.1`,
    for: "15m",
    severity: "warning",
    summary: "More than a tenth of the requests to sandboxes in {{ $labels.sandbox_namespace }} fail on the way.",
    description: "The label reason of sandbox_router_upstream_errors_total says why.",
  }),
  alert("AgentSandboxRouterWaiting", {
    expr: `sum(sandbox_router_waiting_requests{job="${routerService}"}) > 50`,
    for: "10m",
    severity: "warning",
    summary: "More than 50 requests wait for sandboxes that do not become ready.",
    description: "Sandboxes are woken by traffic and do not start, or start slowly.",
  }),
  alert("AgentSandboxNodeDown", {
    expr: `min by (job, instance) (up{${nodes}}) == 0`,
    for: "5m",
    severity: "warning",
    summary: "The target {{ $labels.instance }} of {{ $labels.job }} cannot be scraped.",
    description:
      "If the node is down, its sandboxes are too. Otherwise their processors, memory and volumes are not known, and AgentSandboxVolumeFull cannot fire.",
  }),
  alert("AgentSandboxVolumeFull", {
    expr: `kubelet_volume_stats_used_bytes / kubelet_volume_stats_capacity_bytes > 0.9 and on (namespace) sum by (namespace) (agent_sandboxes{job="${managerName}"})`,
    for: "10m",
    severity: "warning",
    summary:
      "The volume claim {{ $labels.persistentvolumeclaim }} in {{ $labels.namespace }} is more than nine tenths full.",
    description:
      "Writes of the sandbox fail when its volume is full. The claim may be of another program in that namespace.",
  }),
];
