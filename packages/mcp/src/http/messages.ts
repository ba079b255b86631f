import { HttpRefusal } from "./http-refusal.ts";
import { isSmallShape } from "./json-shape.ts";
import type { RequestId } from "./running-requests.ts";

/** What the listener must know of a body before the protocol library reads it. */
export interface Messages {
  /** Undefined if the body is not valid JSON. */
  readonly value: unknown;
  readonly all: readonly unknown[];
  /** Of requests, which get an answer. */
  readonly ids: readonly RequestId[];
  /** Of requests that the client cancels. */
  readonly cancelled: readonly RequestId[];
  /** Whether a client of the older protocol opens its connection. */
  readonly isInitialize: boolean;
  /** Whether a client wants to be told about changes. */
  readonly isListen: boolean;
}

/** The protocol version of March 2025 has several messages in one body. Its clients send a few. */
const maxMessages = 32;

export function readMessages(body: Buffer): Messages {
  if (!isSmallShape(body)) throw new HttpRefusal(400, "The message has too many elements or levels");
  const value = parse(body);
  const all = (Array.isArray(value) ? value : [value]) as readonly unknown[];
  if (all.length > maxMessages) throw new HttpRefusal(400, `The body has more than ${maxMessages} messages`);
  const messages = all.filter(isMessage);
  const cancelled = messages.flatMap(({ method, params }) => {
    const id = isMessage(params) && method === "notifications/cancelled" ? params["requestId"] : undefined;
    return isId(id) ? [id] : [];
  });
  return {
    value,
    all,
    ids: messages.flatMap(({ method, id }) => (typeof method === "string" && isId(id) ? [id] : [])),
    cancelled,
    isInitialize: messages.some(({ method }) => method === "initialize"),
    isListen: messages.some(({ method }) => method === "subscriptions/listen"),
  };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

const isMessage = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isId = (value: unknown): value is RequestId => typeof value === "number" || typeof value === "string";
