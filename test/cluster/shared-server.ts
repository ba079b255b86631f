import { setTimeout as sleep } from "node:timers/promises";
import { createClient, HttpTransport, loadKubeconfig, type Resource, type Transport } from "@agent-sandbox/kube";
import { imagesIn } from "../../packages/cli/src/operator/settings.ts";
import { type ClaimServer, grant, startReal, user } from "../controllers/claim-servers.ts";
import type { ControlledServer } from "../controllers/sandbox-server.ts";
import { kubectl } from "./kubectl.ts";
import { systemNamespace, untilInstalled } from "./product.ts";
import type { ProvidedCluster } from "./settings.ts";
import { stopManager } from "./stop-manager.ts";

type SharedServer = ClaimServer & ControlledServer;

const role: Resource = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};
const binding: Resource = { ...role, kind: "ClusterRoleBinding", plural: "clusterrolebindings" };

/** Whether neither Pods of the suites nor fake nodes can run: somebody else's cluster without an image for them. */
export const cannotShare = (cluster: ProvidedCluster): boolean =>
  cluster.missing === undefined && cluster.sleeper === "";

/** Where a kubelet cannot run, the same suites run on kube-apiserver with fake nodes. */
export const sharedName = (cluster: ProvidedCluster): string =>
  cluster.missing === undefined ? "a real node" : "kube-apiserver, because no kubelet can run here";

export const startShared = (cluster: ProvidedCluster): Promise<ClaimServer & ControlledServer> =>
  cluster.missing === undefined ? openShared(cluster) : startReal();

/**
 * The real cluster for the suites that also run on servers with fake nodes. They start the controllers themselves, so the installed
 * manager is stopped until the server is closed.
 */
export async function openShared(cluster: ProvidedCluster): Promise<SharedServer> {
  await using undo = new AsyncDisposableStack();
  // Before the manager is stopped: it must go on working if objects of others are there.
  await untilEmpty(cluster);
  undo.defer(() => untilInstalled(cluster));
  undo.use(await stopManager(cluster, systemNamespace));
  const admin = undo.adopt(await open(cluster.kubeconfig), (transport) => transport.close());
  const controllers = undo.adopt(await open(cluster.kubeconfig, user), (transport) => transport.close());
  await grant(admin);
  const client = createClient(admin);
  for (const resource of [role, binding]) {
    undo.defer(async () => void (await client.delete(resource, { name: user })));
  }
  undo.defer(() => removeObjects(cluster));
  const owned = undo.move();
  const images = { pod: cluster.image, runtime: imagesIn().runtimeImage };
  return { admin, controllers, image: cluster.sleeper, images, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function open(kubeconfig: string, as?: string): Promise<Transport> {
  const { access, error } = await loadKubeconfig({ path: kubeconfig });
  if (access === undefined) throw new Error(error);
  const headers = as === undefined ? {} : { "Impersonate-User": as, "Impersonate-Group": "system:authenticated" };
  return new HttpTransport({ ...access, headers });
}

/** The suites of other servers use the namespace `default`, and delete these kinds from it. */
const removedKinds = "sandboxclaims,sandboxwarmpools,sandboxtemplates,sandboxes,pvc";

/** Objects of earlier files may still be ending. Fails if somebody else's objects are in the way, which the suites would delete. */
async function untilEmpty(cluster: ProvidedCluster): Promise<void> {
  const found = async (): Promise<string> =>
    (await kubectl(cluster, ["get", "sandboxes,sandboxclaims,sandboxwarmpools", "-A", "-o", "name"])) +
    (await kubectl(cluster, ["-n", "default", "get", removedKinds, "-o", "name"]));
  const deadline = Date.now() + 100_000;
  for (let objects = await found(); objects !== ""; objects = await found()) {
    if (Date.now() > deadline)
      throw new Error(`The suites of other servers need a cluster without objects of ours; it has:\n${objects}`);
    await sleep(200);
  }
}

async function removeObjects(cluster: ProvidedCluster): Promise<void> {
  await kubectl(cluster, ["-n", "default", "delete", removedKinds, "--all", "--timeout=60s"]);
}
