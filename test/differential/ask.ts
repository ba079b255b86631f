import type { Agent } from "node:https";
import { request } from "node:https";
import { text } from "node:stream/consumers";

export interface ApiServerAddress {
  readonly url: string;
  readonly token: string;
  readonly agent: Agent;
}

export interface ApiQuestion {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: { readonly [name: string]: string };
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: {
    readonly message?: string;
    readonly reason?: string;
    readonly details?: { readonly causes: readonly { reason: string; message: string; field: string }[] };
    readonly [field: string]: unknown;
  };
}

const timeoutMs = 60_000;

/** Sends one request to an API server as its administrator. */
export function ask({ url, token, agent }: ApiServerAddress, question: ApiQuestion): Promise<ApiAnswer> {
  const { method, path, body, headers } = question;
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, url), {
      method,
      agent,
      timeout: timeoutMs,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    });
    asked.once("response", (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: parsed(answer) }), reject);
    });
    asked.once("timeout", () => asked.destroy(new Error(`Cannot ask ${method} ${path}: timeout`)));
    asked.once("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** A body that is not JSON, such as that of an unknown path, becomes a message. */
function parsed(answer: string): ApiAnswer["body"] {
  try {
    return JSON.parse(answer) as ApiAnswer["body"];
  } catch {
    return { message: answer };
  }
}
