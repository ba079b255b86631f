import { writePrivateFile } from "../private-file.ts";

export interface KubeconfigOptions {
  readonly server: string;
  readonly authority: string;
  readonly token: string;
}

const name = "agent-sandbox";

/** Writes what kubectl and every client library need to reach the server as its administrator. */
export function writeKubeconfig(path: string, { server, authority, token }: KubeconfigOptions): void {
  const cluster = { server, "certificate-authority-data": Buffer.from(authority).toString("base64") };
  // JSON is YAML, and leaves no question of quoting.
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  };
  writePrivateFile(path, `${JSON.stringify(config, null, 2)}\n`);
}
