import { writeFileSync } from "node:fs";
import { type Access, kubectl, tryKubectl } from "../../test/cluster/kubectl.ts";

/** A service account in the namespace `default` with all rights, as whom a controller is measured. */
export interface Account {
  readonly username: string;
  readonly token: string;
  /** The path of a kubeconfig with its token. */
  readonly kubeconfig: string;
  /** The token of another such account. */
  another(name: string): Promise<string>;
  remove(): Promise<void>;
}

export async function accountKubeconfig(
  access: Access,
  { name, file }: { name: string; file: string },
): Promise<Account> {
  const made: string[] = [];
  const make = async (account: string): Promise<string> => {
    const binding = ["clusterrolebinding", account];
    await tryKubectl(access, ["-n", "default", "create", "serviceaccount", account]);
    await tryKubectl(access, [
      "create",
      ...binding,
      "--clusterrole=cluster-admin",
      `--serviceaccount=default:${account}`,
    ]);
    made.push(account);
    return (await kubectl(access, ["-n", "default", "create", "token", account, "--duration=12h"])).trim();
  };
  const token = await make(name);
  const shown = await kubectl(access, ["config", "view", "--minify", "--raw", "-o", "json"]);
  const admin = JSON.parse(shown) as { clusters: readonly { readonly name: string }[] };
  const context = { name: "bench", context: { cluster: admin.clusters[0]?.name, user: "bench", namespace: "default" } };
  const users = [{ name: "bench", user: { token } }];
  writeFileSync(file, JSON.stringify({ ...admin, users, contexts: [context], "current-context": "bench" }), {
    mode: 0o600,
  });
  return {
    username: `system:serviceaccount:default:${name}`,
    token,
    kubeconfig: file,
    another: make,
    remove: async () => {
      for (const account of made) {
        await tryKubectl(access, ["delete", "clusterrolebinding", account]);
        await tryKubectl(access, ["-n", "default", "delete", "serviceaccount", account]);
      }
    },
  };
}
