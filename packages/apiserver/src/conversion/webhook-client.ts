import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";

/** The address of a webhook and the certificate authority to trust. */
export interface WebhookAddress {
  /** Used to verify its certificate and in error messages. */
  readonly url: string;
  /** The address to connect to when the host name of the URL is resolved only inside a cluster. */
  readonly connectTo?: { readonly host: string; readonly port: number } | undefined;
  /** PEM. Without it, the certificate authorities of the machine are trusted. */
  readonly authority: string | undefined;
}

/** The timeout of kube-apiserver. */
const timeoutMs = 30_000;
/** Enough for a page of large objects. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** Posts JSON and parses the JSON response. Errors name the URL. */
export async function postJson(address: WebhookAddress, body: object, signal?: AbortSignal): Promise<unknown> {
  const url = new URL(address.url);
  url.searchParams.set("timeout", `${timeoutMs / 1000}s`);
  // One connection for each call: calls are rare, and the address may change between them.
  const agent = new Agent({ ca: address.authority, keepAlive: false });
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await exchange(url, { address, body, agent, signal: signal ? AbortSignal.any([limit, signal]) : limit });
  } catch (error) {
    throw new Error(describe(url, error, limit.aborted), { cause: error });
  } finally {
    agent.destroy();
  }
}

interface Call {
  readonly address: WebhookAddress;
  readonly body: object;
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

function exchange(url: URL, { address, body, agent, signal }: Call): Promise<unknown> {
  const payload = JSON.stringify(body);
  const { connectTo } = address;
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    "content-length": Buffer.byteLength(payload),
  };
  const place =
    connectTo === undefined
      ? {}
      : {
          hostname: connectTo.host,
          port: connectTo.port,
          servername: url.hostname,
          headers: { ...headers, host: url.host },
        };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, signal, headers, ...place });
    sent.once("error", reject);
    sent.once("response", (response) => {
      readAnswer(response).then(resolve, reject);
    });
    sent.end(payload);
  });
}

async function readAnswer(response: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxAnswerBytes) throw new AnswerError(`the response is longer than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString();
  const { statusCode = 0 } = response;
  if (statusCode < 200 || statusCode > 299) throw new AnswerError(refusal(statusCode));
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new AnswerError("the response is not JSON");
  }
}

/** kube-apiserver's message for a failure status. */
function refusal(statusCode: number): string {
  if (statusCode === 404) return "the server could not find the requested resource";
  if (statusCode < 500) return `the server rejected our request for an unknown reason (${statusCode})`;
  return 'an error on the server ("unknown") has prevented the request from succeeding';
}

/** The webhook was reached but its response is unusable. */
class AnswerError extends Error {
  override readonly name = "AnswerError";
}

function describe(url: URL, error: unknown, isLate: boolean): string {
  const { message, code, address, port } = error as Error & { code?: string; address?: string; port?: number };
  if (error instanceof AnswerError) return message;
  const refused = code === "ECONNREFUSED" ? `dial tcp ${address}:${port}: connect: connection refused` : message;
  return `Post ${JSON.stringify(String(url))}: ${isLate ? "context deadline exceeded" : refused}`;
}
