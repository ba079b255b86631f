import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";

export interface HttpGet {
  readonly host: string;
  readonly port: number;
  readonly path?: string;
  readonly scheme?: string;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

export interface HttpAnswer {
  readonly status: number;
  /** Its beginning. */
  readonly body: string;
}

const mostRedirects = 10;
const bodyLimit = 10 * 1024;

/** Asks a container over HTTP. Certificates are not checked: they are for names, and this is an address. */
export async function httpGet(wanted: HttpGet, signal: AbortSignal): Promise<HttpAnswer> {
  const scheme = wanted.scheme?.toLowerCase() === "https" ? "https" : "http";
  const host = wanted.host.includes(":") ? `[${wanted.host}]` : wanted.host;
  let url = new URL(wanted.path ?? "/", `${scheme}://${host}:${wanted.port}`);
  for (let redirects = 0; ; redirects++) {
    const answer = await ask(url, wanted, signal);
    const location = answer.headers.location;
    const status = answer.statusCode ?? 0;
    const next = status >= 300 && status < 400 && location !== undefined ? parseUrl(location, url) : undefined;
    // To ask another host is not what the Pod's author meant; being sent there counts as an answer.
    if (next?.hostname !== url.hostname || redirects === mostRedirects)
      return { status, body: await beginning(answer) };
    answer.destroy();
    url = next;
  }
}

function parseUrl(location: string, base: URL): URL | undefined {
  return URL.canParse(location, base) ? new URL(location, base) : undefined;
}

function ask(url: URL, { httpHeaders = [] }: HttpGet, signal: AbortSignal): Promise<IncomingMessage> {
  const headers: Record<string, string[]> = { "User-Agent": ["kube-probe/1.35"], Accept: ["*/*"] };
  for (const { name, value } of httpHeaders) {
    const known = Object.keys(headers).find((one) => one.toLowerCase() === name.toLowerCase());
    if (known !== undefined && !httpHeaders.some((one) => one.name === known)) delete headers[known];
    headers[name] = [...(headers[name] ?? []), value];
  }
  return new Promise((resolve, reject) => {
    const options = { headers, signal, agent: false, rejectUnauthorized: false } as const;
    const request = url.protocol === "https:" ? secureRequest(url, options) : plainRequest(url, options);
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
    // The status has been said; what follows is only for people.
  }
  return body.slice(0, bodyLimit);
}
