import { chmodSync, chownSync, rmSync } from "node:fs";
import { type Listening, writeKubeconfig } from "@agent-sandbox/apiserver";
import type { Logger, Transport } from "@agent-sandbox/kube";
import type { BoxPaths } from "./box-paths.ts";
import type { MachineGroup } from "./machine-group.ts";

export interface GroupAccessOptions {
  readonly paths: BoxPaths;
  /** The transport of an administrator. */
  readonly transport: Transport;
  readonly listening: Pick<Listening, "url" | "authority">;
  readonly log: Logger;
}

/** The service account that the members of the group share. A role binding in `default` gives it the role `edit`. */
const account = { namespace: "agent-sandbox-system", name: "agent-sandbox-group" };
const accounts = `/api/v1/namespaces/${account.namespace}/serviceaccounts`;
const bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

const tokenSeconds = 30 * 24 * 3600;
const renewMs = 24 * 3_600_000;

/**
 * Lets the members of a group use the box with a kubeconfig of their own, until the result is disposed. Nothing else in the
 * data folder can be read by them.
 */
export async function openToGroup(group: MachineGroup, options: GroupAccessOptions): Promise<AsyncDisposable> {
  const { paths, log } = options;
  await createAccount(options.transport);
  await writeGroupKubeconfig(group, options);
  // Members may enter the folder, and not list it.
  chownSync(paths.dataDir, 0, group.gid);
  chmodSync(paths.dataDir, 0o710);
  const timer = setInterval(() => {
    writeGroupKubeconfig(group, options).catch((error: unknown) =>
      log.error({ error: String(error) }, "cannot renew the token of the group"),
    );
  }, renewMs).unref();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      rmSync(paths.groupKubeconfig, { force: true });
    },
  };
}

/** Takes the access of an earlier start away. Deleting the account makes its tokens invalid. */
export async function closeToGroups({
  paths,
  transport,
}: Pick<GroupAccessOptions, "paths" | "transport">): Promise<void> {
  rmSync(paths.groupKubeconfig, { force: true });
  chmodSync(paths.dataDir, 0o700);
  await send(transport, { method: "DELETE", path: `${accounts}/${account.name}` }, [200, 404]);
  await send(transport, { method: "DELETE", path: `${bindings}/${account.name}` }, [200, 404]);
}

/** The binding is created only with the account: an operator may replace it by others. */
async function createAccount(transport: Transport): Promise<void> {
  if ((await transport.send({ method: "GET", path: `${accounts}/${account.name}` })).status === 200) return;
  const metadata = { name: account.name };
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", ...account }],
  };
  await send(transport, { method: "POST", path: bindings, body: binding }, [201, 409]);
  const body = { apiVersion: "v1", kind: "ServiceAccount", metadata };
  await send(transport, { method: "POST", path: accounts, body }, [201, 409]);
}

async function writeGroupKubeconfig(
  { gid }: MachineGroup,
  { paths, transport, listening }: GroupAccessOptions,
): Promise<void> {
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: tokenSeconds },
  };
  const path = `${accounts}/${account.name}/token`;
  const { status } = (await send(transport, { method: "POST", path, body: request }, [201])) as {
    readonly status: { readonly token: string };
  };
  const { url: server, authority } = listening;
  writeKubeconfig(paths.groupKubeconfig, { server, authority, credentials: { token: status.token } });
  chownSync(paths.groupKubeconfig, 0, gid);
  chmodSync(paths.groupKubeconfig, 0o640);
}

async function send(
  transport: Transport,
  request: Parameters<Transport["send"]>[0],
  expected: readonly number[],
): Promise<unknown> {
  const { status, body } = await transport.send(request);
  if (expected.includes(status)) return body;
  throw new Error(`Cannot set up the access of the group: ${request.method} ${request.path} answered ${status}`);
}
