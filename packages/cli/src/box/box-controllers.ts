import { type ApiServer, accountIdentity } from "@agent-sandbox/apiserver";
import { ManagerMetrics, type RunningControllers, startControllers } from "@agent-sandbox/controllers";
import { createClient, type Logger } from "@agent-sandbox/kube";
import { version } from "../version.ts";

/** The metrics of the box's controllers. There are no replicas, so this process leads. */
export function createControllersMetrics(): ManagerMetrics {
  const metrics = new ManagerMetrics({ version, commit: "", date: "" });
  metrics.setLeading("box", true);
  return metrics;
}

export function startBoxControllers(
  server: ApiServer,
  metrics: ManagerMetrics,
  as: { readonly instance: string; readonly log: Logger },
): RunningControllers {
  const transport = metrics.counting(server.transportAs(accountIdentity(controllerAccount)));
  const controllers = startControllers({
    ...as,
    client: createClient(transport, { fieldManager: "agent-sandbox" }),
    metrics: metrics.forControllers(),
    settings: { keepRootFilesystem: true, runtime: { image: "sandboxd", delivery: "ImageVolume" } },
    pools: { refillPauseMs },
    podSnapshots: true,
  });
  metrics.countSandboxes(() => controllers.sandboxes.list());
  return controllers;
}

/** A claim and a first command take less on two processors, a start of a member about 300 ms. */
const refillPauseMs = 100;

const controllerAccount = { namespace: "agent-sandbox-system", name: "agent-sandbox-controller" };
