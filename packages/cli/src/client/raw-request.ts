import type { IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { text } from "node:stream/consumers";
import type { ClusterAccess } from "@agent-sandbox/kube";

/** What a request needs that carries no objects, for Node's own clients and for WebSockets. */
export async function requestOptions(access: ClusterAccess, path: string): Promise<RequestOptions & { url: string }> {
  const { authorization, certificate } = await access.credentials.get();
  const { ca, serverName, insecure } = access.tls ?? {};
  return {
    url: `${access.server}${path}`,
    ...(ca !== undefined && { ca }),
    ...(serverName !== undefined && { servername: serverName }),
    ...(insecure === true && { rejectUnauthorized: false }),
    ...certificate,
    headers: { ...access.headers, ...(authorization !== undefined && { authorization }) },
  };
}

/** What a server says in an answer that is no success. */
export async function refusalOf(response: IncomingMessage): Promise<string> {
  const body = await text(response);
  try {
    return (JSON.parse(body) as { message?: string }).message ?? `the server answered ${response.statusCode}`;
  } catch {
    return `the server answered ${response.statusCode}`;
  }
}
