import { writePrivateFile } from "../private-file.ts";
import type { KeyAndCertificate } from "../tls/certificate.ts";

export interface KubeconfigOptions {
  readonly server: string;
  /** What the server's certificate is signed by, PEM. */
  readonly authority: string;
  readonly credentials: { readonly token: string } | KeyAndCertificate;
}

const name = "agent-sandbox";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Writes what kubectl and every client library need to reach the server as the bearer of the credentials. */
export function writeKubeconfig(path: string, { server, authority, credentials }: KubeconfigOptions): void {
  const cluster = { server, "certificate-authority-data": base64(authority) };
  const user =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": base64(credentials.certificate),
          "client-key-data": base64(credentials.key),
        };
  // JSON is YAML, and leaves no question of quoting.
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  };
  writePrivateFile(path, `${JSON.stringify(config, null, 2)}\n`);
}
