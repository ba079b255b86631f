import { coreGroup } from "@agent-sandbox/api";
import type { Client, KubeObject, Resource } from "@agent-sandbox/kube";

const resource = <T extends KubeObject>(apiVersion: string, kind: string, plural: string): Resource<T> => ({
  apiVersion,
  kind,
  plural,
  namespaced: true,
});
const serviceAccounts = resource("v1", "ServiceAccount", "serviceaccounts");
const rbac = "rbac.authorization.k8s.io/v1";
const roles = resource<KubeObject & { rules: object[] }>(rbac, "Role", "roles");
const bindings = resource<KubeObject & { roleRef: object; subjects: object[] }>(rbac, "RoleBinding", "rolebindings");

type TokenRequest = KubeObject & { spec: object; status?: { token: string } };

/** Creates a service account without permissions and returns its token. */
export async function accountToken(client: Client, name: string, audiences?: readonly string[]): Promise<string> {
  await client.create(serviceAccounts, { metadata: { name, namespace: "default" } }).catch(exists);
  const request: TokenRequest = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { name, namespace: "default" },
    spec: audiences === undefined ? {} : { audiences },
  };
  const accounts: Resource<TokenRequest> = { ...serviceAccounts, shape: request };
  const { status } = await client.create(accounts, request, { subresource: "token" });
  return status?.token ?? "";
}

/** Allows a user to connect to one Sandbox. */
export async function allowConnect(client: Client, subject: object, sandbox: string): Promise<void> {
  const name = `connect-${sandbox}-${Math.random().toString(36).slice(2, 8)}`;
  const metadata = { name, namespace: "default" };
  const rule = { apiGroups: [coreGroup], resources: ["sandboxes"], resourceNames: [sandbox], verbs: ["connect"] };
  await client.create(roles, { metadata, rules: [rule] });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
  await client.create(bindings, { metadata, roleRef, subjects: [subject] });
}

function exists(error: unknown): void {
  if ((error as { reason?: string }).reason !== "AlreadyExists") throw error;
}
