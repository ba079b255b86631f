import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Question {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  /** Closes the connection when aborted. */
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
}

/** Sends a request on a new connection, with the target unchanged. */
export async function ask(address: Address, target: string, question: Question = {}): Promise<Answer> {
  const response = await open(address, target, question);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { statusCode: status = 0, headers, rawHeaders } = response;
  return { status, headers, rawHeaders, body, text: body.toString("utf8") };
}

/** The same, but returns as soon as the headers of the response have arrived. */
export function open(address: Address, target: string, question: Question = {}): Promise<IncomingMessage> {
  const { body, ...options } = question;
  return new Promise((resolve, reject) => {
    const sent = request({ ...address, path: target, agent: false, ...options }, resolve);
    sent.once("error", reject);
    sent.end(body);
  });
}

/** The body as JSON of the given type. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function jsonOf<T>({ text }: Answer): T {
  return JSON.parse(text) as T;
}
