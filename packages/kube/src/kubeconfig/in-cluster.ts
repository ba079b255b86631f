import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { tokenFileCredentials } from "../client/credentials/token-file.ts";
import { ConfigProblem } from "./fields.ts";
import { asLoaded, type LoadedAccess } from "./loaded-access.ts";
import { readPemFile } from "./pem.ts";

export interface InClusterOptions {
  /** Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: `/var/run/secrets/kubernetes.io/serviceaccount`. */
  readonly accountFolder?: string;
}

const defaultFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Whether this process runs in a Pod that has the address of the API server. */
export function isInCluster(env: Readonly<Record<string, string | undefined>>): boolean {
  return Boolean(env["KUBERNETES_SERVICE_HOST"] && env["KUBERNETES_SERVICE_PORT"]);
}

/** Access with the service account of the Pod. */
export function loadInCluster(options: InClusterOptions = {}): Promise<LoadedAccess> {
  const { env = process.env, accountFolder = defaultFolder } = options;
  return asLoaded(async () => {
    const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
    const port = env["KUBERNETES_SERVICE_PORT"] ?? "";
    if (!isInCluster(env)) {
      const missing = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set";
      throw new ConfigProblem(`Cannot use the pod's service account: ${missing}: this process does not run in a Pod`);
    }
    const credentials = tokenFileCredentials(join(accountFolder, "token"));
    const ca = await readPemFile(join(accountFolder, "ca.crt"));
    await credentials.get().catch((error: Error) => {
      throw new ConfigProblem(error.message);
    });
    const namespace = await readFile(join(accountFolder, "namespace"), "utf8").catch(() => "");
    return {
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      namespace: namespace.trim() || "default",
      tls: { ca },
      credentials,
    };
  });
}
