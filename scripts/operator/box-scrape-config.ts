import { managerName, routerService } from "../../packages/cli/src/operator/settings.ts";

const folder = "/etc/prometheus/agent-sandbox";

/** The node of a box has a job for its Pods and one for its volumes. */
export const nodeJobs = { pods: "agent-sandbox-node", volumes: "agent-sandbox-volumes" } as const;

/** All parts of a box have the address of its API server, which checks the token. */
function job(name: string, path: string): object {
  return {
    job_name: name,
    scheme: "https",
    metrics_path: path,
    authorization: { credentials_file: `${folder}/token` },
    tls_config: { ca_file: `${folder}/ca.crt` },
    static_configs: [{ targets: ["127.0.0.1:7643"] }],
  };
}

/** The settings of a Prometheus that scrapes a box. Jobs have the names that they have in a cluster, which the alerts use. */
export const scrapeConfig = {
  global: { scrape_interval: "15s", evaluation_interval: "15s" },
  rule_files: [`${folder}/alerts.yml`],
  scrape_configs: [
    job(managerName, "/agent-sandbox/metrics/manager"),
    job(routerService, "/agent-sandbox/metrics/router"),
    job("agent-sandbox-api", "/metrics"),
    job(nodeJobs.pods, "/api/v1/nodes/NODE/proxy/metrics/cadvisor"),
    job(nodeJobs.volumes, "/api/v1/nodes/NODE/proxy/metrics"),
  ],
};
