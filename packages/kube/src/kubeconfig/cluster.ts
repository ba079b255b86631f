import { isIP } from "node:net";
import type { ClusterAccess, TlsSettings } from "../client/http/cluster-access.ts";
import type { Fields } from "./fields.ts";
import { readPem } from "./pem.ts";

export interface ClusterSettings {
  readonly access: Pick<ClusterAccess, "server" | "tls" | "compression">;
  /** The cluster information for exec plugins. */
  readonly forPlugins: object;
}

export async function readCluster(cluster: Fields): Promise<ClusterSettings> {
  const server = cluster.text("server");
  const url = URL.parse(server ?? "");
  if (server === undefined) throw cluster.problem("server", "is missing");
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw cluster.problem("server", `is "${server}", it must be an address like https://host:6443`);
  }
  if (cluster.text("proxy-url") !== undefined) {
    throw cluster.problem("proxy-url", "is not supported: reach the API server directly, or through a tunnel");
  }
  const tls = await readTls(cluster);
  return {
    access: { server, tls, compression: !cluster.flag("disable-compression") && !isLoopback(url.hostname) },
    forPlugins: {
      server,
      ...(tls.ca === undefined ? {} : { "certificate-authority-data": Buffer.from(tls.ca).toString("base64") }),
      ...(tls.serverName === undefined ? {} : { "tls-server-name": tls.serverName }),
      ...(tls.insecure === undefined ? {} : { "insecure-skip-tls-verify": tls.insecure }),
    },
  };
}

async function readTls(cluster: Fields): Promise<TlsSettings> {
  const ca = await readPem(cluster, "certificate-authority");
  const serverName = cluster.text("tls-server-name");
  const insecure = cluster.flag("insecure-skip-tls-verify");
  if (insecure && ca !== undefined) {
    throw cluster.problem(
      "insecure-skip-tls-verify",
      "is true together with certificate-authority: remove one of them",
    );
  }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(insecure ? { insecure } : {}),
  };
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replaceAll(/[[\]]/g, "");
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
