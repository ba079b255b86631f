import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createApiServer } from "@agent-sandbox/apiserver";
import {
  createClient,
  HttpTransport,
  type KubeObject,
  loadKubeconfig,
  type Resource,
  type Transport,
} from "@agent-sandbox/kube";
import { parseAllDocuments } from "yaml";
import { installCrds } from "../kube-apiserver/install-crds.ts";
import { startKubernetes } from "../kube-apiserver/start.ts";

/** An API server with our kinds, with a client of its administrator and one of the controllers' user. */
export interface ClaimServer extends AsyncDisposable {
  readonly admin: Transport;
  readonly controllers: Transport;
  /** The image of Pods on a server with a real node. Without it a fake node runs them. */
  readonly image?: string;
}

export const user = "agent-sandbox-controllers";

/** The rights that our manifests give to the manager. */
function grantedRules(): unknown[] {
  const text = readFileSync(join(import.meta.dirname, "../../deploy/manager.yaml"), "utf8");
  const objects = parseAllDocuments(text).map((each) => each.toJS() as KubeObject);
  const roles = objects.filter(({ kind }) => kind === "ClusterRole") as (KubeObject & { readonly rules: unknown[] })[];
  return roles.flatMap(({ rules }) => rules);
}

export async function startEmbedded(): Promise<ClaimServer> {
  await using undo = new AsyncDisposableStack();
  const server = undo.use(await createApiServer({ nodeName: "node-1", freezeObjects: true }));
  await grant(server.transport);
  return owning(undo, server.transport, server.transportAs({ user, groups: ["system:authenticated"] }));
}

export async function startReal(): Promise<ClaimServer> {
  await using undo = new AsyncDisposableStack();
  const kubernetes = undo.use(
    await startKubernetes({
      users: [{ name: user }],
      inFlight: { reading: 2000, writing: 1000 },
      // By default the garbage collector makes 20 requests per second.
      controllerManagerFlags: ["--kube-api-qps=500", "--kube-api-burst=500"],
      prepare: installCrds,
    }),
  );
  const open = async (kubeconfig: string): Promise<Transport> => {
    const { access, error } = await loadKubeconfig({ path: kubeconfig });
    if (access === undefined) throw new Error(error);
    return undo.adopt(new HttpTransport(access), (transport) => transport.close());
  };
  const admin = await open(kubernetes.admin.kubeconfig);
  await grant(admin);
  return owning(undo, admin, await open(kubernetes.user(user).kubeconfig));
}

function owning(undo: AsyncDisposableStack, admin: Transport, controllers: Transport): ClaimServer {
  const owned = undo.move();
  return { admin, controllers, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const rbac = (kind: string, plural: string): Resource => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  plural,
  namespaced: false,
});

/** Gives the controllers' user the rights that our manifests give to the manager. */
export async function grant(admin: Transport): Promise<void> {
  const client = createClient(admin);
  const name = "agent-sandbox-controllers";
  await client.create(rbac("ClusterRole", "clusterroles"), { metadata: { name }, rules: grantedRules() } as KubeObject);
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  await client.create(rbac("ClusterRoleBinding", "clusterrolebindings"), {
    metadata: { name },
    subjects,
    roleRef,
  } as KubeObject);
}
