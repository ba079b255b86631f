import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installCrds } from "../../test/kube-apiserver/install-crds.ts";
import { startKubernetes } from "../../test/kube-apiserver/start.ts";
import { Users } from "../controllers/load.ts";
import type { Figures } from "../report.ts";
import { type Arm, RunningArm } from "./arm.ts";
import { AuditLog } from "./audit.ts";
import { fillForRestart, onFakeNodes, onRestart } from "./scenarios.ts";

const user = "bench-controller";

/** On a new control plane whose node is simulated by this process. */
export async function measureFake(arm: Arm, folder: string): Promise<Figures> {
  const log = join(folder, "audit.log");
  await using kubernetes = await startKubernetes({
    etcd: "disk",
    users: [{ name: user }],
    inFlight: { reading: 2000, writing: 1000 },
    heapGrowthPercent: 100,
    auditLog: log,
    prepare: installCrds,
  });
  const must = async (...words: string[]): Promise<void> => {
    const { code, stderr } = await kubernetes.kubectl(words);
    if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
  };
  await must("create", "clusterrolebinding", user, "--clusterrole=cluster-admin", `--user=${user}`);
  for (const file of arm.manifests) await must("apply", "--server-side", "--force-conflicts", "-f", file);
  const authority = readFileSync(kubernetes.authority.certificate, "utf8");
  await using users = await Users.open({ url: kubernetes.url, authority, token: kubernetes.admin.token });
  const start = (): RunningArm => new RunningArm(arm, kubernetes.user(user).kubeconfig, join(folder, "controller.log"));
  const audit = new AuditLog(log, user);
  let figures: Figures;
  {
    await using running = start();
    figures = await running.whileRunning(onFakeNodes({ users, audit, running }));
    await running.whileRunning(fillForRestart({ users, audit, running }));
  }
  audit.take();
  await using running = start();
  return { ...figures, ...(await running.whileRunning(onRestart({ users, audit, running }))) };
}
