/** Series in promtool's notation, and the alert that they cause when they have lasted long enough. */
interface FiredAlert {
  readonly alert: string;
  readonly series: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

const manager = 'job="agent-sandbox-controller"';
const router = 'job="sandbox-router-svc"';
const up = (job: string, instance: string): string => `up{job="${job}",instance="${instance}"}`;
const rising = (step: number): string => `0+${step}x60`;
const constant = (value: number): string => `${value}+0x60`;

/** All jobs can be scraped and a manager leads, so that only the alert of the case fires. */
export const healthy: Readonly<Record<string, string>> = {
  [`up{${manager}}`]: constant(1),
  [`up{${router}}`]: constant(1),
  [up("agent-sandbox-node", "127.0.0.1:7643")]: constant(1),
  [up("agent-sandbox-volumes", "127.0.0.1:7643")]: constant(1),
  [up("kubelet", "10.0.0.1:10250")]: constant(1),
  [`leader_election_master_status{${manager}}`]: constant(1),
};

const critical = { severity: "critical" };
const warning = { severity: "warning" };
const pool = 'namespace="a",sandbox_template="t"';

export const firedAlerts: readonly FiredAlert[] = [
  {
    alert: "AgentSandboxControllerMetricsTargetsDown",
    series: { [`up{${manager}}`]: constant(0) },
    labels: warning,
  },
  {
    alert: "AgentSandboxNoLeader",
    series: { [`leader_election_master_status{${manager}}`]: constant(0) },
    labels: critical,
  },
  {
    alert: "AgentSandboxReconcileErrors",
    series: {
      [`controller_runtime_reconcile_total{${manager},controller="sandbox"}`]: rising(100),
      [`controller_runtime_reconcile_errors_total{${manager},controller="sandbox"}`]: rising(30),
    },
    labels: { ...warning, controller: "sandbox" },
  },
  {
    alert: "AgentSandboxQueueGrows",
    series: { [`workqueue_depth{${manager},name="sandbox"}`]: constant(150) },
    labels: { ...warning, name: "sandbox" },
  },
  {
    alert: "AgentSandboxApiServerRefuses",
    series: {
      [`rest_client_requests_total{${manager},code="200"}`]: rising(80),
      [`rest_client_requests_total{${manager},code="503"}`]: rising(10),
      [`rest_client_requests_total{${manager},code="<error>"}`]: rising(10),
    },
    labels: warning,
  },
  {
    alert: "AgentSandboxClaimsSlow",
    series: {
      [`agent_sandbox_claim_controller_startup_latency_ms_bucket{${manager},launch_type="warm",sandbox_template="t",le="2500"}`]:
        rising(0),
      [`agent_sandbox_claim_controller_startup_latency_ms_bucket{${manager},launch_type="warm",sandbox_template="t",le="5000"}`]:
        rising(10),
      [`agent_sandbox_claim_controller_startup_latency_ms_bucket{${manager},launch_type="warm",sandbox_template="t",le="+Inf"}`]:
        rising(10),
    },
    labels: { ...warning, sandbox_template: "t" },
  },
  {
    alert: "AgentSandboxPoolsEmpty",
    series: {
      [`agent_sandbox_claim_creation_total{${manager},${pool},launch_type="cold"}`]: rising(2),
      [`agent_sandbox_claim_creation_total{${manager},${pool},launch_type="warm"}`]: rising(1),
    },
    labels: { ...warning, namespace: "a", sandbox_template: "t" },
  },
  {
    alert: "AgentSandboxNotReady",
    series: {
      [`agent_sandboxes{${manager},${pool},owned_by="SandboxWarmPool",expired="false",ready_condition="false"}`]:
        constant(2),
      [`agent_sandboxes{${manager},${pool},owned_by="SandboxWarmPool",expired="false",ready_condition="true"}`]:
        constant(1),
    },
    labels: { ...warning, namespace: "a", sandbox_template: "t" },
  },
  {
    alert: "AgentSandboxRouterDown",
    series: { [`up{${router}}`]: constant(0) },
    labels: critical,
  },
  {
    alert: "AgentSandboxRouterErrors",
    series: {
      [`sandbox_router_requests_total{${router},sandbox_namespace="a"}`]: rising(100),
      [`sandbox_router_upstream_errors_total{${router},sandbox_namespace="a"}`]: rising(20),
    },
    labels: { ...warning, sandbox_namespace: "a" },
  },
  {
    alert: "AgentSandboxRouterWaiting",
    series: { [`sandbox_router_waiting_requests{${router}}`]: constant(60) },
    labels: warning,
  },
  {
    alert: "AgentSandboxNodeDown",
    series: { [up("kubelet", "10.0.0.2:10250")]: constant(0) },
    labels: { ...warning, job: "kubelet", instance: "10.0.0.2:10250" },
  },
  {
    alert: "AgentSandboxVolumeFull",
    series: {
      'kubelet_volume_stats_used_bytes{namespace="a",persistentvolumeclaim="data-web"}': constant(95),
      'kubelet_volume_stats_capacity_bytes{namespace="a",persistentvolumeclaim="data-web"}': constant(100),
      [`agent_sandboxes{${manager},namespace="a",ready_condition="true"}`]: constant(1),
    },
    labels: { ...warning, namespace: "a", persistentvolumeclaim: "data-web" },
  },
];
