import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installCrds } from "../../test/kube-apiserver/install-crds.ts";
import { startKubernetes } from "../../test/kube-apiserver/start.ts";
import { Users } from "../controllers/load.ts";
import { type Arm, RunningArm, type StartOptions } from "./arm.ts";
import { AuditLog } from "./audit.ts";

const user = "bench-controller";

/** A new control plane with the manifests of an arm, whose node is simulated by this process. */
export interface ControlPlane extends AsyncDisposable {
  readonly users: Users;
  readonly audit: AuditLog;
  /** Starts a process of the arm. */
  start(options?: Pick<StartOptions, "elects">): Promise<RunningArm>;
}

export async function openControlPlane(arm: Arm, folder: string): Promise<ControlPlane> {
  await using undo = new AsyncDisposableStack();
  const auditLog = join(folder, "audit.log");
  const kubernetes = undo.use(
    await startKubernetes({
      etcd: "disk",
      users: [{ name: user }],
      inFlight: { reading: 2000, writing: 1000 },
      heapGrowthPercent: 100,
      auditLog,
      prepare: installCrds,
    }),
  );
  const must = async (...words: string[]): Promise<void> => {
    const { code, stderr } = await kubernetes.kubectl(words);
    if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
  };
  await must("create", "clusterrolebinding", user, "--clusterrole=cluster-admin", `--user=${user}`);
  for (const file of arm.manifests) await must("apply", "--server-side", "--force-conflicts", "-f", file);
  const authority = readFileSync(kubernetes.authority.certificate, "utf8");
  const users = undo.use(await Users.open({ url: kubernetes.url, authority, token: kubernetes.admin.token }));
  const owned = undo.move();
  const { kubeconfig } = kubernetes.user(user);
  return {
    users,
    audit: new AuditLog(auditLog, user),
    start: (options = {}) => RunningArm.start(arm, { kubeconfig, log: join(folder, "controller.log"), ...options }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
