import { parseDurationMs } from "@agent-sandbox/api";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { refused } from "../client/discovery.ts";
import { CommandError } from "../command-error.ts";

/** Prints the token with which this program authenticates. */
export async function printToken(options: GlobalOptions): Promise<void> {
  await using connection = await connect(options);
  console.log(await ownToken(connection));
}

/** The token in the kubeconfig, or that of its exec plugin. */
export async function ownToken({ access }: Connection): Promise<string> {
  const { authorization = "" } = await access.credentials.get();
  const [, token] = /^Bearer (.+)$/.exec(authorization) ?? [];
  if (token !== undefined) return token;
  const hint = "create one for a ServiceAccount: agent-sandbox token create NAMESPACE/NAME";
  throw new CommandError(`the kubeconfig has no token, but a client certificate or nothing; ${hint}`);
}

export interface CreateTokenOptions extends GlobalOptions {
  readonly duration: string;
}

interface TokenRequest {
  readonly status?: { readonly token?: string };
}

/** Prints a new token of a ServiceAccount. The server decides who may create one and how long it may be valid. */
export async function createToken(account: string, options: CreateTokenOptions): Promise<void> {
  const { namespace, name } = parseAccount(account);
  const expirationSeconds = parseSeconds(options.duration);
  await using connection = await connect(options);
  const place = encodeURIComponent(namespace ?? connection.namespace);
  const path = `/api/v1/namespaces/${place}/serviceaccounts/${encodeURIComponent(name)}/token`;
  const { status, body } = await connection.transport.send({
    method: "POST",
    path,
    headers: { accept: "application/json", "content-type": "application/json" },
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds } },
  });
  const { token } = (body as TokenRequest | undefined)?.status ?? {};
  if (status >= 300 || token === undefined) throw refused(path, status, body);
  console.log(token);
}

/** `NAMESPACE/NAME`, or `NAME` in the present namespace. */
export function parseAccount(text: string): { readonly namespace?: string; readonly name: string } {
  const [first = "", second, ...rest] = text.split("/");
  const isComplete = first !== "" && second !== "" && rest.length === 0;
  if (!isComplete) {
    throw new CommandError(`Cannot read ServiceAccount "${text}": write NAMESPACE/NAME, as in default/robot`);
  }
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

function parseSeconds(text: string): number {
  const seconds = Math.floor((parseDurationMs(text) ?? -1) / 1000);
  if (seconds > 0 && Number.isSafeInteger(seconds)) return seconds;
  throw new CommandError(`Cannot read duration "${text}": write it as 30m or 24h`);
}
