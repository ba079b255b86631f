import { existsSync } from "node:fs";
import { findNodeProcess, runOnNode, servicePid } from "./node-process.ts";
import { missingForKubelet } from "./requirements.ts";
import { type ServiceName, serviceNames } from "./services.ts";
import { apiServerUrl, folder, kubeconfig } from "./settings.ts";
import { kubectl } from "./start.ts";

/** The state of the cluster as text: its nodes, services and addresses. */
export async function describeCluster(): Promise<string> {
  if (findNodeProcess() === undefined) {
    const missing = missingForKubelet();
    const hint = missing.length === 0 ? "Start it with: make cluster-up" : `It cannot run here: ${missing.join("; ")}`;
    return `The test cluster is not running. ${hint}`;
  }
  const nodes = await kubectl(["get", "nodes", "-o", "wide"]).catch(message);
  const pods = await kubectl(["get", "pods", "--all-namespaces"]).catch(message);
  const services = await Promise.all(serviceNames.map(describeService));
  return [
    nodes,
    `${"SERVICE".padEnd(26)}${"STATUS".padEnd(10)}LOG`,
    ...services,
    "",
    pods,
    `API server:  ${apiServerUrl}`,
    `Kubeconfig:  ${kubeconfig}`,
    `kubectl:     export KUBECONFIG=${kubeconfig} PATH=${folder}/bin:$PATH`,
  ].join("\n");
}

async function describeService(name: ServiceName): Promise<string> {
  const runs = await runOnNode("kill", "-0", servicePid(name)).then(
    () => true,
    () => false,
  );
  const log = `${folder}/logs/${name}.log`;
  return `${name.padEnd(26)}${(runs ? "running" : "starting").padEnd(10)}${existsSync(log) ? log : "none"}`;
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
