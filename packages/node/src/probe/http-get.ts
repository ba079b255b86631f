import { type IncomingMessage, request as plainRequest } from "node:http";
import type { Duplex } from "node:stream";
import { connect as encrypt } from "node:tls";
import type { PodConnection } from "./pod-connection.ts";

export interface HttpGet {
  readonly port: number;
  readonly path?: string;
  readonly scheme?: string;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

export interface HttpAnswer {
  readonly status: number;
  /** At most the first 10 KiB. */
  readonly body: string;
}

const mostRedirects = 10;
const bodyLimit = 10 * 1024;
const headerLimit = 16 * 1024;

/** Sends a GET request to a Pod. Like the kubelet, does not verify certificates. */
export async function httpGet(wanted: HttpGet, pod: PodConnection, signal: AbortSignal): Promise<HttpAnswer> {
  let url = firstUrl(wanted, pod.host);
  for (let redirects = 0; ; redirects++) {
    const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    const socket = await pod.connect(port, signal);
    try {
      const answer = await ask(url, socket, wanted, signal);
      const next = redirectOf(answer, url);
      if (next === undefined || redirects === mostRedirects) {
        return { status: answer.statusCode ?? 0, body: await beginning(answer) };
      }
      url = next;
    } finally {
      socket.destroy();
    }
  }
}

/** Keeps the origin for any path: `//other/` does not name a host. */
function firstUrl({ path = "/", scheme, port }: HttpGet, host: string): URL {
  const origin = `${scheme?.toLowerCase() === "https" ? "https" : "http"}://${host}:${port}`;
  return new URL(`${origin}${path.startsWith("/") ? "" : "/"}${path}`);
}

/** Where a redirect leads. Redirects to another host are not followed: they count as the response. */
function redirectOf({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | undefined {
  const { location } = headers;
  if (statusCode < 300 || statusCode >= 400 || location === undefined || !URL.canParse(location, from))
    return undefined;
  const next = new URL(location, from);
  const isHttp = next.protocol === "http:" || next.protocol === "https:";
  return isHttp && next.hostname === from.hostname ? next : undefined;
}

function ask(url: URL, socket: Duplex, { httpHeaders = [] }: HttpGet, signal: AbortSignal): Promise<IncomingMessage> {
  const headers: Record<string, string[]> = { "User-Agent": ["kube-probe/1.35"], Accept: ["*/*"], Host: [url.host] };
  for (const { name, value } of httpHeaders) {
    const known = Object.keys(headers).find((one) => one.toLowerCase() === name.toLowerCase());
    if (known !== undefined && !httpHeaders.some((one) => one.name === known)) delete headers[known];
    headers[name] = [...(headers[name] ?? []), value];
  }
  const plain = Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name, values.length === 1 ? (values[0] ?? "") : values]),
  );
  const connection = url.protocol === "https:" ? encrypt({ socket, rejectUnauthorized: false }) : socket;
  return new Promise((resolve, reject) => {
    connection.once("error", reject);
    const path = `${url.pathname}${url.search}`;
    const request = plainRequest({
      // With an `agent` option, even `false`, Node would open its own connection.
      createConnection: () => connection,
      path,
      headers: plain,
      signal,
      setHost: false,
      maxHeaderSize: headerLimit,
    });
    request.once("response", resolve).once("error", reject).end();
  });
}

async function beginning(answer: IncomingMessage): Promise<string> {
  let body = "";
  try {
    for await (const chunk of answer) {
      body += String(chunk);
      if (body.length >= bodyLimit) break;
    }
  } catch {
    // The status decides. The body is only shown to users.
  }
  return body.slice(0, bodyLimit);
}
