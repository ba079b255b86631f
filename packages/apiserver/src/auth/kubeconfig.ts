import { writePrivateFile } from "../private-file.ts";
import type { KeyAndCertificate } from "../tls/certificate.ts";

export interface KubeconfigOptions {
  readonly server: string;
  /** The certificate authority of the server, PEM. */
  readonly authority: string;
  readonly credentials: { readonly token: string } | KeyAndCertificate;
}

const name = "agent-sandbox";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Writes a kubeconfig with which clients connect to the server using the given credentials. */
export function writeKubeconfig(path: string, { server, authority, credentials }: KubeconfigOptions): void {
  const cluster = { server, "certificate-authority-data": base64(authority) };
  const user =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": base64(credentials.certificate),
          "client-key-data": base64(credentials.key),
        };
  // JSON is valid YAML and avoids quoting rules.
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
