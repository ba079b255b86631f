import { dirname, resolve } from "node:path";
import { ExecCredentials, type ExecPlugin } from "../client/credentials/exec-plugin.ts";
import { tokenFileCredentials } from "../client/credentials/token-file.ts";
import { type ClusterAccess, type CredentialSource, fixedCredential } from "../client/http/cluster-access.ts";
import type { Fields } from "./fields.ts";
import { readPem } from "./pem.ts";

/** The credentials of a user, in kubectl's order of precedence: exec, token file, token, password. */
export async function readUser(user: Fields, cluster: object): Promise<CredentialSource> {
  if (user.child("auth-provider")) {
    throw user.problem("auth-provider", "is no longer supported by Kubernetes: use an exec plugin in its place");
  }
  const exec = user.child("exec");
  const cert = await readPem(user, "client-certificate");
  const key = await readPem(user, "client-key");
  if (cert !== undefined && key === undefined)
    throw user.problem("client-key", "is missing but client-certificate is set");
  if (key !== undefined && cert === undefined)
    throw user.problem("client-certificate", "is missing but client-key is set");
  const certificate = cert !== undefined && key !== undefined ? { certificate: { cert, key } } : {};

  if (exec) {
    if (cert !== undefined) throw user.problem("exec", "is set together with client-certificate: remove one of them");
    return new ExecCredentials(readExec(exec, cluster));
  }
  const source = readToken(user);
  return {
    get: async () => ({ ...certificate, ...(await source.get()) }),
    renew: async (refused) => ({ ...certificate, ...(await source.renew(refused)) }),
  };
}

function readToken(user: Fields): CredentialSource {
  const file = user.path("tokenFile");
  const token = user.text("token");
  const username = user.text("username");
  if (file !== undefined) return tokenFileCredentials(file);
  if (token !== undefined) return fixedCredential({ authorization: `Bearer ${token}` });
  if (username === undefined) return fixedCredential({});
  const pair = Buffer.from(`${username}:${user.text("password") ?? ""}`).toString("base64");
  return fixedCredential({ authorization: `Basic ${pair}` });
}

function readExec(exec: Fields, cluster: object): ExecPlugin {
  const apiVersion = exec.text("apiVersion");
  if (apiVersion !== "client.authentication.k8s.io/v1" && apiVersion !== "client.authentication.k8s.io/v1beta1") {
    throw exec.problem(
      "apiVersion",
      `is "${apiVersion ?? ""}", known are client.authentication.k8s.io/v1 and /v1beta1`,
    );
  }
  if (exec.text("interactiveMode") === "Always") {
    throw exec.problem("interactiveMode", "is Always, but this program cannot prompt");
  }
  const command = exec.text("command");
  if (command === undefined) throw exec.problem("command", "is missing");
  const installHint = exec.text("installHint");
  return {
    apiVersion,
    // A name without "/" is looked up in PATH; other paths are relative to the kubeconfig.
    command: command.includes("/") ? resolve(dirname(exec.file), command) : command,
    args: exec.texts("args"),
    env: Object.fromEntries(
      exec.children("env").map((entry) => [requireText(entry, "name"), entry.text("value") ?? ""]),
    ),
    ...(installHint === undefined ? {} : { installHint }),
    ...(exec.flag("provideClusterInfo") ? { cluster } : {}),
  };
}

function requireText(fields: Fields, field: string): string {
  const text = fields.text(field);
  if (text === undefined) throw fields.problem(field, "is missing");
  return text;
}

/** The impersonation headers. */
export function readImpersonation(user: Fields): NonNullable<ClusterAccess["headers"]> {
  const as = user.text("as");
  const uid = user.text("as-uid");
  const groups = user.texts("as-groups");
  const extra = user.child("as-user-extra");
  if (as === undefined && (uid !== undefined || groups.length > 0 || extra)) {
    throw user.problem("as", "is missing: as-uid, as-groups and as-user-extra describe the user that it names");
  }
  return {
    ...(as === undefined ? {} : { "impersonate-user": as }),
    ...(uid === undefined ? {} : { "impersonate-uid": uid }),
    ...(groups.length === 0 ? {} : { "impersonate-group": groups }),
    ...Object.fromEntries(
      (extra?.names() ?? []).map((name) => [`impersonate-extra-${encodeURIComponent(name)}`, extra?.texts(name) ?? []]),
    ),
  };
}
