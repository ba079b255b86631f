import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import type { Authority, KeyPair } from "./authority.ts";

export interface UserRequest {
  readonly name: string;
  readonly groups?: readonly string[];
}

/** A user with a client certificate and a token. Permissions come from RBAC. */
export interface User extends KeyPair {
  readonly name: string;
  readonly groups: readonly string[];
  readonly token: string;
  /** The path of a kubeconfig with the certificate. */
  readonly kubeconfig: string;
}

export interface Cluster {
  readonly url: string;
  readonly authority: Authority;
}

export function makeUser({ name, groups = [] }: UserRequest, { url, authority }: Cluster): User {
  const pair = authority.issueClient(name, groups);
  const kubeconfig = pair.certificate.replace(/crt$/, "kubeconfig");
  const data = (path: string): string => readFileSync(path).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server: url, "certificate-authority-data": data(authority.certificate) } }],
    users: [{ name, user: { "client-certificate-data": data(pair.certificate), "client-key-data": data(pair.key) } }],
    contexts: [{ name: "test", context: { cluster: "test", user: name } }],
    "current-context": "test",
  };
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  return { name, groups, ...pair, kubeconfig, token: randomBytes(24).toString("base64url") };
}

/** The lines of kube-apiserver's `--token-auth-file`: token, user, uid and a quoted list of groups. */
export function tokenFile(users: readonly User[]): string {
  const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;
  return users
    .map(({ token, name, groups }) => [token, quoted(name), quoted(name), quoted(groups.join(","))].join(","))
    .join("\n");
}
