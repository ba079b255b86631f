import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { parse as parseYaml } from "yaml";
import type { ExchangeStep } from "./case.ts";
import type { Server } from "./servers.ts";

export interface ExchangeAnswer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  /** Parsed if it is JSON or YAML. A stream of JSON lines becomes a list. */
  readonly body: unknown;
}

/** The compared headers, which affect clients. */
const compared = ["content-type", "warning", "allow", "location", "www-authenticate", "retry-after"];
const timeoutMs = 30_000;
const attempts = 600;
const pauseMs = 25;

/** Sends one request and reads the whole response. */
export async function exchange(step: ExchangeStep, server: Server): Promise<ExchangeAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send(step, server);
    if (step.retryUntil === undefined || answer.status === step.retryUntil || attempt === attempts) return answer;
    await sleep(pauseMs);
  }
}

function send({ method, path, headers = {}, body }: ExchangeStep, server: Server): Promise<ExchangeAnswer> {
  const payload = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  // Node does not set a content length for the body of a DELETE.
  const framing =
    payload === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) };
  const agent = "authorization" in headers ? server.anonymousAgent : server.agent;
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, server.url), {
      method,
      agent,
      timeout: timeoutMs,
      headers: { accept: "application/json", ...framing, ...headers },
    });
    asked.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.once("error", reject).once("end", () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: pick(response.headers),
          body: parse(text, response.headers["content-type"]),
        });
      });
    });
    asked.once("timeout", () => asked.destroy(new Error(`Cannot get an answer to ${method} ${path}: timeout`)));
    asked.once("error", reject).end(payload);
  });
}

function pick(headers: { readonly [name: string]: string | readonly string[] | undefined }): Record<string, string> {
  const found = compared.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
  return Object.fromEntries(found) as Record<string, string>;
}

function parse(text: string, type: string | undefined): unknown {
  if (type === "application/yaml") return parseYaml(text) as unknown;
  try {
    return JSON.parse(text);
  } catch {
    return parseLines(text) ?? text;
  }
}

function parseLines(text: string): unknown[] | undefined {
  try {
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  } catch {
    return undefined;
  }
}
