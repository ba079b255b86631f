import { sandboxes } from "@agent-sandbox/api";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import { connect, type GlobalOptions } from "../client/connect.ts";
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
  const { items } = await connection.client.list(sandboxes);
  const ready = items.filter(({ status }) =>
    status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True"),
  );
  console.log(`The box is running (process ${box.pid}) since ${box.startedAt}`);
  console.log(`  API         ${box.url}`);
  console.log(`  router      ${box.routerUrl}`);
  console.log(`  kubeconfig  ${paths.kubeconfig}`);
  console.log(`  log         ${paths.log}`);
  console.log(`  sandboxes   ${items.length}, ${ready.length} ready`);
  const running = runningSandboxes(items, (await readPods(connection.transport, undefined)) ?? []);
  console.log(`  runtimes    ${countRuntimes(running, await readKernels(connection.transport))}`);
}
