import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import { type Connection, connect, type GlobalOptions, kubeconfigOf } from "../client/connect.ts";
import { readKernels, readPods } from "../client/pod-runtimes.ts";
import { countRuntimes, runningSandboxes } from "../client/running-sandboxes.ts";

export async function status(options: GlobalOptions): Promise<void> {
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const box = findRunningBox(paths);
  if (box === undefined) {
    console.log(`No box is running in ${paths.dataDir}: start one with "agent-sandbox up"`);
    process.exitCode = 3;
    return;
  }
  await using connection = await connect(options);
  const { items, namespace } = await readSandboxes(connection);
  const ready = items.filter(({ status }) =>
    status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True"),
  );
  console.log(`The box is running (process ${box.pid}) since ${box.startedAt}`);
  console.log(`  API         ${box.url}`);
  console.log(`  router      ${box.routerUrl}`);
  if (box.dashboardUrl !== undefined) console.log(`  dashboard   ${box.dashboardUrl}`);
  console.log(`  kubeconfig  ${kubeconfigOf(paths)}`);
  console.log(`  log         ${paths.log}`);
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  console.log(`  sandboxes   ${items.length}, ${ready.length} ready${where}`);
  const running = runningSandboxes(items, (await readPods(connection.transport, namespace)) ?? []);
  console.log(`  runtimes    ${countRuntimes(running, await readKernels(connection.transport))}`);
}

interface Listed {
  readonly items: readonly Sandbox[];
  /** The only namespace that was listed, for users who may not list all. */
  readonly namespace: string | undefined;
}

async function readSandboxes({ client, namespace }: Connection): Promise<Listed> {
  try {
    return { items: (await client.list(sandboxes)).items, namespace: undefined };
  } catch (error) {
    if (!isReason(error, "Forbidden")) throw error;
    return { items: (await client.list(sandboxes, { namespace })).items, namespace };
  }
}
