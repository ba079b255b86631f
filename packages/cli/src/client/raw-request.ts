import type { IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { text } from "node:stream/consumers";
import type { ClusterAccess } from "@agent-sandbox/kube/requests";

/** Options for requests with Node's HTTP client or a WebSocket: URL, TLS settings and credentials. */
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

/** Reads the error message from an unsuccessful response. */
export async function refusalOf(response: IncomingMessage): Promise<string> {
  const body = await text(response);
  try {
    return (JSON.parse(body) as { message?: string }).message ?? `the server answered ${response.statusCode}`;
  } catch {
    return `the server answered ${response.statusCode}`;
  }
}
