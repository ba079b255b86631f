import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { kubectl } from "../../test/cluster/kubectl.ts";
import { findNodeProcess } from "../../test/cluster/node/node-process.ts";
import {
  apiServerUrl,
  auditLog,
  folder as clusterFolder,
  kubeconfig,
  pauseImage,
} from "../../test/cluster/node/settings.ts";
import { manager, stopManager } from "../../test/cluster/stop-manager.ts";
import { Users } from "../controllers/load.ts";
import type { Figures } from "../report.ts";
import { accountKubeconfig } from "./account.ts";
import { type Arm, RunningArm } from "./arm.ts";
import { AuditLog } from "./audit.ts";
import { onRealPods } from "./scenarios.ts";

const access = { kubeconfig, kubectl: `${clusterFolder}/bin/kubectl` };
const admin = (...words: string[]): Promise<string> => kubectl(access, words);

/** On the test cluster. An installed manager is stopped meanwhile. */
export async function measureReal(arm: Arm, folder: string): Promise<Figures> {
  if (findNodeProcess() === undefined) throw new Error("The test cluster is not running: run make cluster-up");
  await using undo = new AsyncDisposableStack();
  const named = `--field-selector=metadata.name=${manager}`;
  const installed = await admin("get", "deployments", "-A", named, "-o", "jsonpath={.items[*].metadata.namespace}");
  if (installed !== "") undo.use(await stopManager(access, installed));
  await admin("apply", "--server-side", "--force-conflicts", ...crds());
  for (const file of arm.manifests) await admin("apply", "--server-side", "--force-conflicts", "-f", file);
  const user = "bench-controller";
  const account = await accountKubeconfig(access, { name: user, file: join(folder, "real.kubeconfig") });
  undo.defer(() => account.remove());
  const authority = readFileSync(`${clusterFolder}/keys/ca.crt`, "utf8");
  const server = { url: apiServerUrl, authority, token: account.token };
  const users = undo.use(
    await Users.open({ ...server, token: await account.another("bench-user") }, { image: pauseImage }),
  );
  undo.defer(() => removeAll());
  const audit = new AuditLog(auditLog, account.username);
  const running = undo.use(
    await RunningArm.start(arm, { kubeconfig: account.kubeconfig, log: join(folder, "controller.log") }),
  );
  return await running.whileRunning(onRealPods({ users, audit, running }));
}

const crds = (): string[] => ["-f", join(import.meta.dirname, "../../deploy/crds")];

async function removeAll(): Promise<void> {
  await admin("-n", "default", "delete", "sandboxclaims,sandboxwarmpools,sandboxtemplates", "--all", "--wait=false");
  const left = (): Promise<string> => admin("-n", "default", "get", "sandboxes,pods,sandboxclaims", "-o", "name");
  for (let tries = 0; tries < 600 && (await left()) !== ""; tries++) await sleep(200);
}
